import type { Answer } from "../answer.ts";
import { every, must, type Verdict } from "../check.ts";
import type { Kit } from "../kit.ts";
import type { TokenShape } from "../tokens.ts";

/** Whether a request was refused because of its caller; AUTH-13 judges which of the two statuses is right. */
export function isRefusal({ status }: Answer): boolean {
  return status === 401 || status === 403;
}

/** Returns all rights of the probes, so that only the token's defect can cause a refusal. */
export function rights(kit: Kit): TokenShape {
  const { probes, keys } = kit.settings;
  return {
    scopes: [...(probes.scoped?.scopes ?? []), ...(keys?.scopes ?? [])],
    roles: [...(probes.role?.roles ?? []), ...(keys?.roles ?? [])],
  };
}

/** Requests the protected route with a token. */
export function protectedRoute(kit: Kit, given: TokenShape | string): Promise<Answer> {
  const token = typeof given === "string" ? given : kit.tokens.mint({ ...rights(kit), ...given });
  return kit.ask(kit.settings.probes.protected ?? "/", { token });
}

/** Requires that the protected route refuses a token. */
export async function refuses(kit: Kit, what: string, given: TokenShape | string): Promise<Verdict> {
  const answer = await protectedRoute(kit, given);
  return must(isRefusal(answer), `${answer.status} for a token with ${what}`, "401");
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
  return must(answer.ok, `${answer.status} for ${what}`, "an answer");
}
