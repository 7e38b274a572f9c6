import { jetstreamManager, type JetStreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import type { NatsServer } from "@svc/dev-services";
import type { EventBus } from "@svc/events";
import { createNatsJetStreamBus, type NatsJetStreamOptions } from "@svc/events/nats-jetstream";
import { collector } from "./messages.ts";
import { brokerNats, LOGIN } from "./servers.ts";

/** The server, clients and helpers for tests of the bus on NATS JetStream. */
export interface NatsBench {
  readonly server: NatsServer;
  /** A connection of the test, separate from the bus. */
  readonly connection: NatsConnection;
  readonly manager: JetStreamManager;
  /** Creates a bus that is closed after the test. */
  readonly busWith: (options?: Partial<NatsJetStreamOptions>) => EventBus;
  /** Consumes a topic and returns the list that collects the ids of its messages. */
  readonly collect: typeof collector;
}

let streams = 0;

/** Returns a unique stream name. */
export function nextStream(): string {
  streams += 1;
  return `case-${streams}`;
}

/** A handler that does nothing. */
export const nothing = (): Promise<void> => Promise.resolve();

/** Prepares the bench; call it inside a `describe`. */
export function natsBench(): NatsBench {
  const nats = brokerNats();
  const open: EventBus[] = [];
  let connection: NatsConnection;
  let manager: JetStreamManager;

  before(async () => {
    connection = await connect({
      servers: `127.0.0.1:${nats.server.port}`,
      user: LOGIN.user,
      pass: LOGIN.password,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 50,
    });
    manager = await jetstreamManager(connection);
  });
  after(() => connection.close());
  afterEach(async () => {
    await Promise.all(open.splice(0).map((bus) => bus.close()));
  });

  return {
    get server() {
      return nats.server;
    },
    get connection() {
      return connection;
    },
    get manager() {
      return manager;
    },
    busWith(options = {}) {
      const bus = createNatsJetStreamBus({
        servers: options.connection === undefined ? nats.server.url : undefined,
        stream: "shared",
        prefix: "shared.",
        ackWaitMs: 10_000,
        retryBaseMs: 10,
        timeoutMs: 10_000,
        ...options,
      });
      open.push(bus);
      return bus;
    },
    collect: collector,
  };
}
