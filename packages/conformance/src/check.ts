import type { Kit } from "./kit.ts";

/** What a check found. */
export type Verdict =
  | { readonly status: "pass" }
  | {
      readonly status: "fail";
      /** What the service did. */
      readonly seen: string;
      /** What the rule asks for. */
      readonly expected: string;
    }
  | {
      readonly status: "not applicable";
      readonly reason: string;
      /** What the run was not given, by the names that `--require` takes. Default: none. */
      readonly lacks?: readonly string[] | undefined;
      /** Whether the settings of the service leave the rule nothing to hold for, so that no run can see it. Default: false. */
      readonly ruledOut?: true | undefined;
    };

/** Something without which a check has nothing to look at. */
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

/** One rule, looked at from outside. */
export interface Check {
  /** The id of the rule. */
  readonly rule: string;
  readonly needs?: readonly Need[] | undefined;
  /** Changes the state of the service or of the key set: runs alone, after all others, in the order of the list. */
  readonly alone?: boolean | undefined;
  /** Waits until the service fetches a new key. */
  readonly patient?: boolean | undefined;
  /** Waits until the window closes in which a rotated refresh token does no harm. */
  readonly windowed?: boolean | undefined;
  run(kit: Kit): Promise<Verdict>;
}

export const pass: Verdict = { status: "pass" };

export function fail(seen: string, expected: string): Verdict {
  return { status: "fail", seen, expected };
}

/** A verdict for a rule that holds for the service and was not seen. */
export function notApplicable(reason: string, lacks?: readonly string[]): Verdict {
  return lacks === undefined
    ? { status: "not applicable", reason }
    : { status: "not applicable", reason, lacks };
}

/** A verdict for a rule that does not hold for the service as it is configured. */
export function ruledOut(reason: string): Verdict {
  return { status: "not applicable", reason, ruledOut: true };
}

/** Pass when something holds, else a failure. */
export function must(
  holds: boolean,
  seen: string | (() => string),
  expected: string | (() => string),
): Verdict {
  const text = (given: string | (() => string)): string => (typeof given === "string" ? given : given());
  return holds ? pass : fail(text(seen), text(expected));
}

/** The first verdict that is a failure; else pass, unless nothing was applicable or there is none at all. */
export function every(verdicts: readonly Verdict[]): Verdict {
  return (
    verdicts.find(({ status }) => status === "fail") ??
    verdicts.find(({ status }) => status === "pass") ??
    verdicts[0] ??
    notApplicable("nothing was seen that shows it")
  );
}
