import type { Logger } from "@svc/context";
import { ConfigurationError } from "@svc/options";
import type { BackgroundPart } from "@svc/plugin";
import type { Database } from "@svc/sql";
import { createBusConsumer } from "./bus-consumer.ts";
import type { EventBus } from "./event-bus.ts";
import type { Events } from "./events.ts";
import type { Inbox } from "./inbox.ts";
import type { Outbox } from "./outbox/outbox.ts";
import { type EventsSettings, settingsAs } from "./plugin-options.ts";
import { createRelay } from "./relay/relay.ts";

const PRUNE_EVERY_MS = 3_600_000;

/**
 * Returns the bus that carries events to other services; undefined without one. Only this function loads a bus's
 * packages.
 */
export async function eventBus(settings: EventsSettings, logger: Logger): Promise<EventBus | undefined> {
  const { bus, url } = settings;
  if (bus === "none" || url === undefined) return undefined;
  if (bus === "redis") {
    const { createRedisStreamsBus } = await installed(
      bus,
      ["@svc/redis"],
      () => import("./redis-streams.ts"),
    );
    const options = settingsAs({ ...settings, url }, { redis: "url", prefix: "keyPrefix" });
    return createRedisStreamsBus({ ...options, logger });
  }
  const packages = ["@nats-io/transport-node", "@nats-io/jetstream"];
  const { createNatsJetStreamBus } = await installed(bus, packages, () => import("./nats-jetstream.ts"));
  return createNatsJetStreamBus({ ...settingsAs(settings, { servers: "url", stream: "stream" }), logger });
}

/** Loads a bus. If its packages are not installed, the error shows the install command. */
async function installed<T>(bus: string, packages: readonly string[], load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    const message = `${bus} needs packages that are not installed: npm install ${packages.join(" ")}`;
    throw new ConfigurationError("the service", [{ key: "plugin.events.bus", message }]);
  }
}

/** The event parts for a worker process; undefined for a part that is not configured or was refused. */
export interface EventTools {
  readonly events: Events | undefined;
  readonly outbox: Outbox | undefined;
  readonly inbox: Inbox | undefined;
  readonly db: Database | undefined;
  readonly bus: EventBus | undefined;
  /** The consumer group, whose replicas share the bus's events; undefined when this process does not consume. */
  readonly group: string | undefined;
}

/** Creates the background parts for events: the outbox relay, the bus consumer, and the inbox pruning. */
export function eventWork(
  settings: EventsSettings,
  logger: Logger,
  { events, outbox, inbox, db, bus, group }: EventTools,
): readonly BackgroundPart[] {
  const work: BackgroundPart[] = [];
  if (outbox !== undefined && events !== undefined) {
    const options = settingsAs(settings, {
      batch: "relayBatch",
      everyMs: "relayEveryMs",
      leaseSeconds: "relayLeaseSeconds",
      maxAttempts: "relayMaxAttempts",
      purgeAfterDays: "outboxRetentionDays",
    });
    const relay = createRelay({ ...options, outbox, events, logger });
    work.push({ name: "relay", start: () => relay.start(), stop: () => relay.stop() });
  }
  if (group !== undefined && bus !== undefined && events !== undefined) {
    const options = settingsAs(settings, { group: "consumerGroup", concurrency: "consumeConcurrency" });
    const consumer = createBusConsumer({ ...options, group, bus, events, logger });
    work.push({ name: "bus consumer", start: () => consumer.start(), stop: () => consumer.stop() });
  }
  if (inbox !== undefined && db !== undefined && settings.inboxRetentionDays > 0) {
    work.push(pruning(inbox, db, settings.inboxRetentionDays, logger));
  }
  return work;
}

/** Returns the part that deletes old inbox records once an hour. Messages that old are no longer redelivered. */
function pruning(inbox: Inbox, db: Database, olderThanDays: number, logger: Logger): BackgroundPart {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();

  async function prune(): Promise<void> {
    try {
      await inbox.prune(db, { olderThanDays });
    } catch (err) {
      logger.warn({ err, table: inbox.name }, "the inbox could not be pruned; retrying in an hour");
    }
  }

  function look(): void {
    running = prune();
  }

  return {
    name: "inbox",
    start() {
      look();
      timer = setInterval(look, PRUNE_EVERY_MS).unref();
    },
    stop() {
      clearInterval(timer);
      return running;
    },
  };
}
