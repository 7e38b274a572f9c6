import type { EventBus } from "@svc/events";
import { createRedisStreamsBus, type RedisStreamsOptions } from "@svc/events/redis-streams";
import type { RedisServer } from "@svc/dev-services";
import { Redis } from "ioredis";
import { collector } from "./messages.ts";
import { brokerRedis } from "./servers.ts";

/** The server, client and helpers for tests of the bus on Redis Streams. */
export interface RedisBench {
  readonly server: RedisServer;
  /** A client of the test, separate from the bus. */
  readonly raw: Redis;
  /** Creates a bus that is closed after the test. */
  readonly busWith: (options?: Partial<RedisStreamsOptions>) => EventBus;
  /** Consumes a topic and returns the list that collects the ids of its messages. */
  readonly collect: typeof collector;
}

/** Prepares the bench; call it inside a `describe`. */
export function redisBench(): RedisBench {
  const redis = brokerRedis();
  let raw: Redis;
  const open: EventBus[] = [];

  before(() => {
    raw = new Redis(redis.server.url, { protocol: 2 });
    raw.on("error", () => undefined);
  });
  after(() => raw.disconnect());
  afterEach(async () => {
    await Promise.all(open.splice(0).map((bus) => bus.close()));
  });

  return {
    get server() {
      return redis.server;
    },
    get raw() {
      return raw;
    },
    busWith(options = {}) {
      const settings = { minIdleMs: 300, retryBaseMs: 10, timeoutMs: 10_000, ...options };
      const bus = createRedisStreamsBus({ redis: redis.server.url, ...settings });
      open.push(bus);
      return bus;
    },
    collect: collector,
  };
}
