import type { Kit } from "./kit.ts";
import { show } from "./show.ts";

/** The result of a check. */
export type Verdict =
  | { readonly status: "pass" }
  | {
      readonly status: "fail";
      /** The observed behaviour. */
      readonly seen: string;
      /** The behaviour that the rule requires. */
      readonly expected: string;
    }
  | {
      readonly status: "not applicable";
      readonly reason: string;
      /** What the run lacked, by the names that `--require` takes. Default: none. */
      readonly lacks?: readonly string[] | undefined;
      /** Whether the service's settings exclude every case of the rule, so that no run can see it. Default: false. */
      readonly ruledOut?: true | undefined;
    };

/** The result of a check, with its rule. */
export interface Finding {
  readonly id: string;
  readonly title: string;
  /** The full rule as Markdown. */
  readonly text: string;
  /** The section of the contract. */
  readonly section: string;
  readonly source: "contract" | "house";
  readonly verdict: Verdict;
  readonly durationMs: number;
}

/** A precondition of a check. */
export type Need =
  | "auth"
  | "tenancy"
  | "metrics"
  | "security_headers"
  | "keys"
  | "log"
  | "key set"
  | "full"
  | "reduced"
  | "replica"
  | `session:${"hook" | "store" | "rotation"}`
  | `probe:${string}`;

/** The check of one rule from outside. */
export interface Check {
  /** The id of the rule. */
  readonly rule: string;
  readonly needs?: readonly Need[] | undefined;
  /** Changes the state of the service or the key set: runs alone, after all others, in the order of the list. */
  readonly alone?: boolean | undefined;
  /** Waits until the service fetches a new key. */
  readonly patient?: boolean | undefined;
  /** Waits until the grace window of a rotated refresh token closes. */
  readonly windowed?: boolean | undefined;
  readonly run: (kit: Kit) => Promise<Verdict>;
}

/** Returns the verdict, or yields one for each requirement; a returned verdict then counts only when none was yielded. */
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

/** Returns a value that the needs of a check guarantee. */
export function given<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("the check does not declare what it needs");
  return value;
}

export const pass: Verdict = { status: "pass" };

export function fail(seen: string, expected: string): Verdict {
  return { status: "fail", seen, expected };
}

/** Returns the verdict for a rule that applies to the service but could not be observed. */
export function notApplicable(reason: string, lacks?: readonly string[]): Verdict {
  return lacks === undefined
    ? { status: "not applicable", reason }
    : { status: "not applicable", reason, lacks };
}

/** Returns the verdict for a rule that does not apply to the service as configured. */
export function ruledOut(reason: string): Verdict {
  return { status: "not applicable", reason, ruledOut: true };
}

/** Returns pass if the condition is true, else a failure. */
export function must(
  holds: boolean,
  seen: string | (() => string),
  expected: string | (() => string),
): Verdict {
  const text = (given: string | (() => string)): string => (typeof given === "string" ? given : given());
  return holds ? pass : fail(text(seen), text(expected));
}

/** Returns the first failure; else pass, or not applicable if no verdict is a pass. */
export function every(verdicts: readonly Verdict[]): Verdict {
  return (
    verdicts.find(({ status }) => status === "fail") ??
    verdicts.find(({ status }) => status === "pass") ??
    verdicts[0] ??
    notApplicable("nothing was seen that shows it")
  );
}

/** Returns pass if the condition is true, else a failure that shows a named value. */
export function mustBe(holds: boolean, name: string, seen: unknown, expected: string): Verdict {
  return must(holds, () => `${name} ${show(seen)}`, expected);
}

/** Requires that a named value is the expected one. */
export function is(name: string, seen: unknown, expected: string | number | boolean): Verdict {
  return mustBe(seen === expected, name, seen, String(expected));
}
