import { createRedisStreamsBus } from "@svc/events/redis-streams";
import { eventBusCases } from "@svc/events/testing";
import { brokerRedis } from "./support/servers.ts";
import { tappedBuses } from "./support/tapped-buses.ts";

describe("the bus on Redis Streams in the event bus suite", function () {
  this.timeout(60_000);
  const redis = brokerRedis();
  const options = { minIdleMs: 300, retryBaseMs: 10, timeoutMs: 10_000 };
  const cases = eventBusCases({
    open: () =>
      tappedBuses(redis.server, (port) =>
        createRedisStreamsBus({ redis: `redis://127.0.0.1:${port}`, ...options }),
      ),
  });
  for (const { name, run } of cases) it(name, run);
});
