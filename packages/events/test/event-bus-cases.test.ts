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

/** For each fault, a part of the name of the case that detects it. */
const FOUND_BY: Readonly<Record<Fault, string>> = {
  "loses rejected messages": "delivers a rejected message again",
  "delivers every message to every consumer": "delivers a message to one consumer of a group",
  "splits messages among groups": "delivers every message to every group",
  "ignores the order": "keeps the order of each key",
  "overtakes rejected messages": "holds back later messages with the same key",
  "loses the messages of a dead consumer": "delivers the unacknowledged messages of a dead consumer",
  "skips earlier messages": "delivers earlier messages to a new group",
  "stores an id twice": "delivers a message once even if it was published twice",
  "stops without waiting for handlers": "finishes running handlers when stopped",
  "continues after a stop": "finishes running handlers when stopped",
  "truncates long bodies": "delivers a message of 200 KB",
  "writes bodies as latin1": "delivers every character",
  "accepts messages after close": "rejects calls after close()",
  "counts every delivery as the first": "with its delivery count",
  "delivers topics that a group did not subscribe to": "delivers to a group only messages of its topics",
  "runs one handler too many": "runs as many handlers concurrently as configured",
  "is critical": "is never critical",
  "ignores the abort signal": "publishes nothing after the caller's signal aborted",
  "never resolves stopped": "rejects calls after close()",
  "never resolves close": "accepts an empty list",
};

describe("the suite for event buses", () => {
  for (const { name, run } of casesFor()) it(`${name} (in memory)`, run);

  for (const [fault, part] of Object.entries(FOUND_BY) as [Fault, string][]) {
    it(`EVT-7 detects a bus that ${fault}`, async () => {
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

  it("EVT-7 omits the cases for each guarantee that is set to false", () => {
    const open = (): Promise<never> => Promise.reject(new Error("not opened"));
    const names = (options: object): readonly string[] =>
      eventBusCases({ open, ...options }).map(({ name }) => name);
    const all = names({});
    expect(names({ ordered: false })).to.have.length(all.length - 2);
    expect(names({ deduplicates: false, keepsEarlier: false })).to.have.length(all.length - 2);
    expect(new Set(all).size).to.equal(all.length);
  });
});
