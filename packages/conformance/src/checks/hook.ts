import type { Answer } from "../answer.ts";
import { type Check, check, every, must, notApplicable, type Verdict } from "../check.ts";
import type { Kit } from "../kit.ts";
import type { Probe } from "../requests.ts";
import { show } from "../show.ts";
import { refused } from "./logouts.ts";
import { needs } from "./pairs.ts";
import { claimsOf, names, pairOf, refresh, sessionOf, signIn, tell, visit } from "./session-calls.ts";

const withHook = [...needs, "session:hook"] as const;

/** Refreshes a session while the hook behaves as the probe says. */
async function whileTold<T>(kit: Kit, probe: Probe, look: () => Promise<T>): Promise<T | undefined> {
  const { hook } = sessionOf(kit);
  if (hook === undefined) return undefined;
  try {
    await tell(kit, probe);
    return await look();
  } finally {
    await tell(kit, hook.restore);
  }
}

/** Runs one declined refresh for all checks, which run alone. */
export function declined(kit: Kit): Promise<{ answer: Answer; verdict: Verdict } | undefined> {
  return kit.once("declined", async () => {
    const decline = sessionOf(kit).hook?.decline;
    if (decline === undefined) return undefined;
    const session = await signIn(kit);
    // Let the service see the token, because it may cache that it was valid.
    await visit(kit, session.access);
    const answer = await whileTold(kit, decline, () => refresh(kit, session.refresh));
    if (answer === undefined) return undefined;
    const verdict = every([
      must(answer.status === 401, `${answer.status} for a refresh that the hook declines`, "401"),
      refused("the access token of a session that was declined", await visit(kit, session.access)),
      refused("the refresh token of a session that was declined", await refresh(kit, session.refresh)),
    ]);
    return { answer, verdict };
  });
}

export const hookChecks: readonly Check[] = [
  check("REF-10", { needs: withHook, alone: true }, async (kit) => {
    return (await declined(kit))?.verdict ?? notApplicable("`session.hook` names no `decline`");
  }),
  check("REF-11", { needs: withHook, alone: true }, async (kit) => {
    const fail = sessionOf(kit).hook?.fail;
    if (fail === undefined) return notApplicable("`session.hook` names no `fail`");
    const session = await signIn(kit);
    const answer = await whileTold(kit, fail, () => refresh(kit, session.refresh));
    const again = await refresh(kit, session.refresh);
    return every([
      must(answer?.status === 500, `${answer?.status} while the hook throws`, "500"),
      must(again.ok, `${again.status} for the same token afterwards`, "a new pair"),
    ]);
  }),
  check("REF-16", { needs: withHook, alone: true }, async (kit) => {
    const grant = sessionOf(kit).hook?.grant;
    if (grant === undefined) return notApplicable("`session.hook` names no `grant`");
    const { scopeClaim, rolesClaim } = kit.settings.claims;
    const session = await signIn(kit);
    const had = names(claimsOf(session.access)[rolesClaim]).toSorted();
    const answer = await whileTold(kit, grant.request, () => refresh(kit, session.refresh));
    const pair = answer && pairOf(kit, answer);
    if (pair === undefined) return must(false, `${answer?.status} without a pair`, "a new pair");
    const claims = claimsOf(pair.access);
    const [scopes, roles] = [names(claims[scopeClaim]).toSorted(), names(claims[rolesClaim]).toSorted()];
    const granted = grant.scopes.toSorted();
    return every([
      must(isSame(scopes, granted), `scopes ${show(scopes)}`, show(granted)),
      must(isSame(roles, had), `roles ${show(roles)}`, show(had)),
    ]);
  }),
];

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
