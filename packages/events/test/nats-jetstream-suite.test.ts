import { testNats } from "@svc/dev-services";
import type { EventBus } from "@svc/events";
import { createNatsJetStreamBus } from "@svc/events/nats-jetstream";
import { eventBusCases } from "@svc/events/testing";
import { openTap, type Tap } from "./support/tap.ts";

describe("the bus on NATS JetStream, by the suite for event buses", function () {
  this.timeout(60_000);
  const nats = testNats();

  const cases = eventBusCases({
    async open() {
      const taps = new Map<EventBus, Tap>();
      const make = async (): Promise<EventBus> => {
        const tap = await openTap(nats.server.port);
        const bus = createNatsJetStreamBus({
          servers: `nats://127.0.0.1:${tap.port}`,
          prefix: "svc.",
          ackWaitMs: 400,
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
        restartBroker: () => nats.server.restart(),
        async close() {
          for (const tap of taps.values()) await tap.close();
        },
      };
    },
  });
  for (const { name, run } of cases) it(name, run);
});
