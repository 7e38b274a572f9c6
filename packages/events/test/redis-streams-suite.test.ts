import { type RedisServer, startRedis } from "@svc/dev-services";
import type { EventBus } from "@svc/events";
import { createRedisStreamsBus } from "@svc/events/redis-streams";
import { eventBusCases } from "@svc/events/testing";
import { openTap, type Tap } from "./support/tap.ts";

describe("the bus on Redis Streams, by the suite for event buses", function () {
  this.timeout(60_000);
  let server: RedisServer;

  before(async () => {
    server = await startRedis();
  });

  after(() => server.stop());

  const cases = eventBusCases({
    async open() {
      const taps = new Map<EventBus, Tap>();
      const make = async (): Promise<EventBus> => {
        const tap = await openTap(server.port);
        const bus = createRedisStreamsBus({
          redis: `redis://127.0.0.1:${tap.port}`,
          minIdleMs: 400,
          retryBaseMs: 10,
          timeoutMs: 3000,
        });
        taps.set(bus, tap);
        return bus;
      };
      return {
        bus: await make(),
        another: make,
        breakConnection: (bus) => taps.get(bus)?.cut(),
        restartBroker: () => server.restart(),
        async close() {
          for (const tap of taps.values()) await tap.close();
        },
      };
    },
  });
  for (const { name, run } of cases) it(name, run);
});
