import { type EventBusBench, onBench } from "./bench.ts";
import { deliveryCases } from "./delivery-cases.ts";
import { faultCases } from "./fault-cases.ts";
import { lifeCases } from "./life-cases.ts";

/** Describes a bus to the suite. */
export interface EventBusSuite {
  /**
   * Opens a bus on a new or existing broker. Every case uses its own topics and groups. For a fast suite, configure the
   * bus to redeliver a dead consumer's messages after about half a second, and to retry after similarly short pauses.
   */
  readonly open: () => Promise<EventBusBench>;
  /** Whether one consumer handles messages with the same topic and key one at a time, in order. Default: true. */
  readonly ordered?: boolean | undefined;
  /** Whether the broker drops a second message with the same id. With false, a duplicate may arrive. Default: true. */
  readonly deduplicates?: boolean | undefined;
  /** Whether a new group receives messages published before it was created. Default: true. */
  readonly keepsEarlier?: boolean | undefined;
  /** Milliseconds that a case waits for an expected result before it fails. Default: 20,000. */
  readonly patienceMs?: number | undefined;
}

/** One case of the suite; register it with any test runner: `it(name, run)`. */
export interface EventBusCase {
  /** Describes the behaviour in a sentence, with the rule's id. */
  readonly name: string;
  /**
   * Rejects when the bus behaves differently: after `patienceMs` when an expected result is missing, and after four
   * times that when a call to the bus never ends.
   */
  readonly run: () => Promise<void>;
}

/**
 * Returns the cases that every event bus must pass (EVT-7), including custom adapters. Register each case with your
 * test runner. The cases are independent and run in any order.
 */
export function eventBusCases(suite: EventBusSuite): readonly EventBusCase[] {
  const { open, ordered = true, deduplicates = true, keepsEarlier = true, patienceMs = 20_000 } = suite;
  const has = { ordered, deduplicates, keepsEarlier };
  return [...deliveryCases, ...faultCases, ...lifeCases]
    .filter(({ needs }) => needs === undefined || has[needs])
    .map(({ name, play }) => ({ name: `EVT-7 ${name}`, run: () => onBench(open, patienceMs, play) }));
}
