import type { Answer } from "../answer.ts";
import type { Verdict } from "../conformance-report.ts";
import { rights } from "../grant.ts";
import type { Kit } from "../kit.ts";
import type { TokenShape } from "../tokens.ts";
import { every, must, succeeds } from "../verdict.ts";

/** Whether a request was rejected because of its caller. AUTH-13 checks the choice between 401 and 403. */
export function isRefusal({ status }: Answer): boolean {
  return status === 401 || status === 403;
}

/** Requires that the request was refused because of its caller. */
export function refusesCaller(answer: Answer, when: string, expected = "401"): Verdict {
  return must(isRefusal(answer), `${answer.status} ${when}`, expected);
}

/** Sends a request with a token to the protected route. */
export function protectedRoute(kit: Kit, given: TokenShape | string): Promise<Answer> {
  const token = typeof given === "string" ? given : kit.tokens.mint({ ...rights(kit), ...given });
  return kit.ask(kit.settings.probes.protected ?? "/", { token });
}

/** Requires that the protected route refuses a token. */
export async function refuses(kit: Kit, what: string, given: TokenShape | string): Promise<Verdict> {
  const answer = await protectedRoute(kit, given);
  return refusesCaller(answer, `for a token with ${what}`);
}

export async function refusesAll(
  kit: Kit,
  cases: readonly (readonly [what: string, given: TokenShape | string])[],
): Promise<Verdict> {
  return every(await Promise.all(cases.map(([what, given]) => refuses(kit, what, given))));
}

/** Requires that the protected route accepts a token. */
export async function accepts(kit: Kit, what: string, given: TokenShape | string): Promise<Verdict> {
  const answer = await protectedRoute(kit, given);
  return succeeds(answer, `for ${what}`);
}
