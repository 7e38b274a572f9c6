import { type EventBusBench, onBench, type Scene } from "./bench.ts";
import { deliveryCases } from "./delivery-cases.ts";
import { faultCases } from "./fault-cases.ts";
import { lifeCases } from "./life-cases.ts";

/** What the suite needs to know of a bus. */
export interface EventBusSuite {
  /**
   * Makes a bus on a broker, or on one that is there already: every case draws its own topics and groups. For the suite
   * to be quick the bus redelivers what a dead consumer had after about half a second, and retries as soon.
   */
  readonly open: () => Promise<EventBusBench>;
  /** Whether messages of one topic and key are handled one after the other, in order, by one consumer. Default: true. */
  readonly ordered?: boolean | undefined;
  /** Whether a second message with the same id is dropped. Default: true; otherwise it may come twice. */
  readonly deduplicates?: boolean | undefined;
  /** Whether a new group gets what was published before it. Default: true. */
  readonly keepsEarlier?: boolean | undefined;
  /** How long a case waits for what must happen before it fails, in milliseconds. Default: 20,000. */
  readonly patienceMs?: number | undefined;
}

/** One case of the suite: `it(name, run)` in any test runner. */
export interface EventBusCase {
  /** A sentence that states the behaviour, with the id of the rule. */
  readonly name: string;
  /**
   * Rejects when the bus does not behave so: after `patienceMs` where it has to wait for something that does not come, and
   * after four times of that where a call of the bus never ends.
   */
  readonly run: () => Promise<void>;
}

/** A case before it is bound to a bus. */
export interface Draft {
  readonly name: string;
  /** What of {@link EventBusSuite} has to be true for it. */
  readonly needs?: "ordered" | "deduplicates" | "keepsEarlier";
  readonly play: (scene: Scene) => Promise<void>;
}

/**
 * What every event bus must do (EVT-7), for adapters of your own too: register each case with your test runner. The cases
 * are independent and work in any order.
 */
export function eventBusCases(suite: EventBusSuite): readonly EventBusCase[] {
  const { open, ordered = true, deduplicates = true, keepsEarlier = true, patienceMs = 20_000 } = suite;
  const has = { ordered, deduplicates, keepsEarlier };
  return [...deliveryCases, ...faultCases, ...lifeCases]
    .filter(({ needs }) => needs === undefined || has[needs])
    .map(({ name, play }) => ({ name: `EVT-7 ${name}`, run: () => onBench(open, patienceMs, play) }));
}
