import { eventBusCases, type EventBusCase } from "@svc/events/testing";
import { expect } from "chai";
import { type Fault, memoryBroker } from "./support/faulty-bus.ts";

function casesFor(fault?: Fault, patienceMs?: number): readonly EventBusCase[] {
  const broker = memoryBroker(fault);
  return eventBusCases({
    open: async () =>
      Promise.resolve({
        bus: broker.bus(),
        another: () => Promise.resolve(broker.bus()),
        breakConnection: (bus) => broker.kill(bus),
        restartBroker: () => Promise.resolve(),
        close: () => Promise.resolve(),
      }),
    patienceMs,
  });
}

/** A part of the name of the case that finds each fault. */
const FOUND_BY: Readonly<Record<Fault, string>> = {
  "loses what is rejected": "delivers again what a handler rejected",
  "gives every consumer everything": "gives a message to one consumer of a group",
  "splits messages among groups": "gives every group all messages",
  "forgets order": "keeps the order of each key",
  "overtakes what was rejected": "lets nothing of the same key overtake",
  "forgets what the dead had in hand": "gives what a dead consumer had in hand",
  "begins with what comes": "gives a new group what was published before it",
  "takes an id twice": "delivers once what was published twice",
  "stops at once": "finishes at a stop what is in hand",
  "goes on after a stop": "finishes at a stop what is in hand",
  "cuts long bodies": "carries 200 KB",
  "writes bodies as latin1": "carries every character",
  "takes messages when closed": "ends everything when it is closed",
  "counts every delivery as the first": "says how often it did",
  "gives groups what they did not ask for": "gives a group its topics and no others",
  "runs one handler more": "runs as many handlers at a time as it was told",
  "is critical": "readiness check that is never critical",
  "publishes for those who gave up": "publishes nothing for a caller that has given up",
  "never says that it has stopped": "ends everything when it is closed",
  "never ends to close": "takes a list that is empty",
};

describe("the suite for event buses", () => {
  for (const { name, run } of casesFor()) it(`${name}: in memory`, run);

  for (const [fault, part] of Object.entries(FOUND_BY) as [Fault, string][]) {
    it(`EVT-7 finds a bus that ${fault}`, async () => {
      const found = casesFor(fault, 50).find(({ name }) => name.includes(part));
      let error: unknown;
      try {
        await found?.run();
      } catch (thrown) {
        error = thrown;
      }
      expect(found, part).not.to.equal(undefined);
      expect(error, part).to.be.instanceOf(Error);
    });
  }

  it("EVT-7 leaves out what a bus does not promise", () => {
    const open = (): Promise<never> => Promise.reject(new Error("not opened"));
    const names = (options: object): readonly string[] =>
      eventBusCases({ open, ...options }).map(({ name }) => name);
    const all = names({});
    expect(names({ ordered: false })).to.have.length(all.length - 2);
    expect(names({ deduplicates: false, keepsEarlier: false })).to.have.length(all.length - 2);
    expect(new Set(all).size).to.equal(all.length);
  });
});
