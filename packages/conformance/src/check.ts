import type { Verdict } from "./conformance-report.ts";
import type { Kit } from "./kit.ts";
import { every } from "./verdict.ts";

/** A precondition of a check. */
export type Need =
  | "auth"
  | "tenancy"
  | "metrics"
  | "telemetry"
  | "gateway"
  | "openapi"
  | "rate_limit"
  | "security_headers"
  | "keys"
  | "log"
  | "key set"
  | "otlp"
  | "upstream"
  | "full"
  | "reduced"
  | "replica"
  | `session:${"hook" | "store" | "rotation"}`
  | `probe:${string}`;

/** A check of one rule from outside the service. */
export interface Check {
  readonly rule: string;
  readonly needs?: readonly Need[] | undefined;
  /**
   * Whether the check changes the state of the service or the key set. Such checks run in sequence after all other checks,
   * in list order.
   */
  readonly alone?: boolean | undefined;
  /** Whether the check waits until the service fetches a new key. */
  readonly patient?: boolean | undefined;
  /** Whether the check waits until the grace window of a rotated refresh token closes. */
  readonly windowed?: boolean | undefined;
  readonly run: (kit: Kit) => Promise<Verdict>;
}

/**
 * Checks a service. Returns one verdict, or yields one for each requirement; after a yield, a returned verdict is
 * ignored.
 */
type Judge = (kit: Kit) => Promise<Verdict> | AsyncGenerator<Verdict, Verdict | undefined | void>;

/** Builds the check of one rule. */
export function check(rule: string, how: Omit<Check, "rule" | "run">, judge: Judge): Check {
  return {
    rule,
    ...how,
    async run(kit) {
      const judged = judge(kit);
      if (!(Symbol.asyncIterator in judged)) return judged;
      const verdicts: Verdict[] = [];
      for (;;) {
        const { value, done } = await judged.next();
        if (done === true) return verdicts.length === 0 ? (value ?? every(verdicts)) : every(verdicts);
        verdicts.push(value);
      }
    },
  };
}

/** Returns `value`, which is defined because the check declares it in `needs`. */
export function given<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("the check does not declare what it needs");
  return value;
}
