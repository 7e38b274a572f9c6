import type { EventBus } from "@svc/events";
import type { EventBusBench } from "@svc/events/testing";
import { openTap, type Tap } from "./tap.ts";

/** Returns a test fixture whose buses reach their broker through proxies that can be cut. */
export async function tappedBuses(
  server: { readonly port: number; restart(): Promise<void> },
  busAt: (port: number) => EventBus,
): Promise<EventBusBench> {
  const taps = new Map<EventBus, Tap>();
  const another = async (): Promise<EventBus> => {
    const tap = await openTap(server.port);
    const bus = busAt(tap.port);
    taps.set(bus, tap);
    return bus;
  };
  return {
    bus: await another(),
    another,
    breakConnection: (bus) => taps.get(bus)?.cut(),
    restartBroker: () => server.restart(),
    async close() {
      for (const tap of taps.values()) await tap.close();
    },
  };
}
