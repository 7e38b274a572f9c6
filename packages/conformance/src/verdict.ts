import type { Answer, JsonObject } from "./answer.ts";
import type { Verdict } from "./conformance-report.ts";
import { show } from "./show.ts";

export const pass: Verdict = { status: "pass" };

export function fail(seen: string, expected: string): Verdict {
  return { status: "fail", seen, expected };
}

/** Returns the verdict for a rule that applies to the service but could not be checked. */
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
export function must(holds: boolean, seen: string, expected: string): Verdict {
  return holds ? pass : fail(seen, expected);
}

type Status = Pick<Answer, "status">;

/**
 * Returns pass if the condition is true, else a failure that shows the response's status.
 * @param when describes the request, for the report
 */
function mustAnswer(holds: boolean, answer: Status | undefined, when: string, expected: string): Verdict {
  return must(holds, `${answer?.status} ${when}`.trimEnd(), expected);
}

/** Requires a response with this status. */
export function statusIs(
  answer: Status | undefined,
  status: number,
  when = "",
  expected = String(status),
): Verdict {
  return mustAnswer(answer?.status === status, answer, when, expected);
}

/** Requires a successful response. */
export function succeeds(answer: Answer, when: string, expected = "a successful response"): Verdict {
  return mustAnswer(answer.ok, answer, when, expected);
}

/** Requires an unsuccessful response. */
export function isDenied(answer: Answer, when: string, expected: string): Verdict {
  return mustAnswer(!answer.ok, answer, when, expected);
}

/** Returns the first failure; otherwise pass, or not applicable if no verdict is a pass. */
export function every(verdicts: readonly Verdict[]): Verdict {
  return (
    verdicts.find(({ status }) => status === "fail") ??
    verdicts.find(({ status }) => status === "pass") ??
    verdicts[0] ??
    notApplicable("no response in this run shows whether the service obeys the rule")
  );
}

/**
 * Returns pass if the condition is true, else a failure that shows a value.
 * @param named the value, by its name in the report
 */
export function mustBe(holds: boolean, named: JsonObject, expected: string): Verdict {
  const seen = Object.entries(named).map(([name, value]) => `${name} ${show(value)}`);
  return must(holds, seen.join(", "), expected);
}

/** Requires that a named value is the expected one. */
export function is(name: string, seen: unknown, expected: string | number | boolean): Verdict {
  return mustBe(seen === expected, { [name]: seen }, String(expected));
}
