import { every, must, notApplicable, type Verdict } from "../check.ts";
import type { Kit } from "../kit.ts";
import { isRefusal, refusesAll } from "./callers.ts";
import { logout, pairOf, signIn, visit } from "./session-calls.ts";

/** Checks that refresh tokens are not accepted as bearer tokens, both the kit's and the service's own. */
export async function refreshAsBearer(kit: Kit): Promise<Verdict> {
  const { keys, profile, probes } = kit.settings;
  const verdicts: Verdict[] = [];
  if (keys !== undefined && probes.protected !== undefined) {
    const claims = { typ: "refresh", fam: "f", grt: { scopes: [], roles: [] } };
    verdicts.push(await refusesAll(kit, [["typ refresh", { claims }]]));
  }
  if (probes.session !== undefined && profile === "full") verdicts.push(await ofTheService(kit));
  return verdicts.length === 0
    ? notApplicable("needs keys and a probe `protected`, or `session`")
    : every(verdicts);
}

async function ofTheService(kit: Kit): Promise<Verdict> {
  const { access, refresh: token } = await signIn(kit);
  const visited = await visit(kit, token);
  const renewed = pairOf(kit, await kit.ask({ path: "/auth/refresh", body: {} }, { token }));
  const loggedOut = await logout(kit, token);
  // A service may answer 204 to any sign-out: only the end of the session counts.
  const after = await visit(kit, access);
  const what = "a refresh token in the Authorization header";
  return every([
    must(isRefusal(visited), `${visited.status} for ${what}`, "401"),
    must(renewed === undefined, `a pair from /auth/refresh for ${what}`, "a refusal"),
    must(!loggedOut.ok || after.ok, `a session that was logged out with ${what}`, "401"),
  ]);
}
