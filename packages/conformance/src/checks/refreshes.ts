import type { Answer } from "../answer.ts";
import { check, type Check } from "../check.ts";
import type { Kit } from "../kit.ts";
import type { Probe } from "../requests.ts";
import { show } from "../show.ts";
import { type Claims, withOtherSignature } from "../tokens.ts";
import { every, must, notApplicable, statusIs, succeeds, type Verdict } from "../verdict.ts";
import { presentWithin, replay } from "./grace.ts";
import { refused } from "./logouts.ts";
import { needs } from "./pairs.ts";
import {
  claimsOf,
  isReusable,
  logout,
  names,
  type Pair,
  pairOf,
  presentCopy,
  refresh,
  sessionOf,
  signIn,
  sendControl,
  visit,
} from "./session-calls.ts";

const withHook = [...needs, "session:hook"] as const;

/** Refreshes a session while the hook behaves as the probe says. */
async function duringHook<T>(kit: Kit, probe: Probe, look: () => Promise<T>): Promise<T | undefined> {
  const { hook } = sessionOf(kit);
  if (hook === undefined) return undefined;
  try {
    await sendControl(kit, probe);
    return await look();
  } finally {
    await sendControl(kit, hook.restore);
  }
}

/** Runs one declined refresh for all checks, which run alone. */
function declined(kit: Kit): Promise<{ answer: Answer; verdict: Verdict } | undefined> {
  return kit.once("declined", async () => {
    const decline = sessionOf(kit).hook?.decline;
    if (decline === undefined) return undefined;
    const session = await signIn(kit);
    // Let the service see the token, because it may cache that it was valid.
    await visit(kit, session.access);
    const answer = await duringHook(kit, decline, () => refresh(kit, session.refresh));
    if (answer === undefined) return undefined;
    const verdict = every([
      statusIs(answer, 401, "for a refresh that the hook declines"),
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
  check("REF-11", { needs: withHook, alone: true }, async function* (kit) {
    const fail = sessionOf(kit).hook?.fail;
    if (fail === undefined) return notApplicable("`session.hook` names no `fail`");
    const session = await signIn(kit);
    const answer = await duringHook(kit, fail, () => refresh(kit, session.refresh));
    const again = await refresh(kit, session.refresh);
    yield statusIs(answer, 500, "while the hook throws");
    yield succeeds(again, "for the same token afterwards", "a new pair");
  }),
  check("REF-16", { needs: withHook, alone: true }, async function* (kit) {
    const grant = sessionOf(kit).hook?.grant;
    if (grant === undefined) return notApplicable("`session.hook` names no `grant`");
    const { scopeClaim, rolesClaim } = kit.settings.claims;
    const session = await signIn(kit);
    const had = names(claimsOf(session.access)[rolesClaim]).toSorted();
    const answer = await duringHook(kit, grant.request, () => refresh(kit, session.refresh));
    const pair = answer && pairOf(kit, answer);
    if (pair === undefined) return must(false, `${answer?.status} without a pair`, "a new pair");
    const claims = claimsOf(pair.access);
    const [scopes, roles] = [names(claims[scopeClaim]).toSorted(), names(claims[rolesClaim]).toSorted()];
    const granted = grant.scopes.toSorted();
    yield must(isSame(scopes, granted), `scopes ${show(scopes)}`, show(granted));
    yield must(isSame(roles, had), `roles ${show(roles)}`, show(had));
  }),
];

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** How many times one token is presented concurrently. */
const atOnce = 16;

/** Requires that an invalid refresh token of any form gives no pair. */
async function rejectsInvalidTokens(kit: Kit, session: Pair): Promise<Verdict> {
  const [, payload = ""] = session.refresh.split(".");
  const none = Buffer.from(JSON.stringify({ alg: "none", typ: "JWT" })).toString("base64url");
  const verdicts: Verdict[] = [];
  for (const [what, token] of [
    ["an access token", session.access],
    ["a refresh token with another signature", withOtherSignature(session.refresh)],
    ["a refresh token with alg none", `${none}.${payload}.`],
  ] as const) {
    const { ok, status } = await refresh(kit, token);
    verdicts.push(must(!ok, `${status} from /auth/refresh for ${what}`, "401"));
  }
  return every(verdicts);
}

const notTaken: Verdict = notApplicable("the service does not take refresh tokens that the kit makes");

export const refreshChecks: readonly Check[] = [
  check("REF-1", { needs }, async function* (kit) {
    const session = await signIn(kit);
    const refused = await rejectsInvalidTokens(kit, await signIn(kit));
    const answer = await refresh(kit, session.refresh);
    const pair = pairOf(kit, answer);
    if (pair === undefined) return must(false, `${answer.status} without a pair`, "a new pair");
    const visited = await visit(kit, pair.access);
    const isNew = pair.access !== session.access && pair.refresh !== session.refresh;
    yield must(isNew, "a token that the client had before", "two new tokens");
    yield succeeds(visited, "for the new access token");
    yield must(
      !(await isReusable(kit)),
      "a refresh token is good for two pairs",
      "401 for a token that was used",
    );
    yield refused;
  }),
  check("REF-4", { needs }, async function* (kit) {
    if (await isReusable(kit)) return notApplicable("see REF-1");
    const { refresh: token } = await signIn(kit);
    const answers = await Promise.all(Array.from({ length: atOnce }, () => refresh(kit, token)));
    const won = answers.filter(({ ok }) => ok).length;
    const lost = answers.filter(({ status }) => status === 401).length;
    yield must(won === 1, `${won} pairs for a token that was presented ${atOnce} times at once`, "one");
    yield must(won + lost === atOnce, `${atOnce - won - lost} other answers than 200 and 401`, "401");
  }),
  check("REF-12", { needs: [...needs, "keys"] }, async (kit) => {
    const answer = await presentCopy(kit, { grt: undefined });
    if (answer === undefined) return notTaken;
    return statusIs(answer, 401, "for a refresh token without grt");
  }),
  check("REF-15", { needs: [...needs, "keys"] }, async function* (kit) {
    const { lifetimeDays } = sessionOf(kit);
    if (lifetimeDays === 0) return notApplicable("no `session.lifetime_days` was given");
    const begun = (seconds: number): Claims => ({
      auth_time: kit.tokens.now() - lifetimeDays * 86_400 + seconds,
    });
    const old = await presentCopy(kit, begun(-60));
    const young = await presentCopy(kit, begun(600));
    if (old === undefined || young === undefined) return notTaken;
    yield statusIs(old, 401, "for a session that is too old");
    yield succeeds(young, "for a session that is nearly too old", "a new pair");
  }),
  check("REF-13", { needs, windowed: true, alone: true }, async function* (kit) {
    const refusals = await refusalsOf(kit);
    yield* refusals
      .filter((each): each is Refusal & { readonly answer: Answer } => isJudged(each))
      .map(({ what, detail, answer }) => {
        const seen = answer.object?.["detail"];
        const isProblem = answer.mediaType === "application/problem+json";
        if (answer.status !== 401) return must(false, `${answer.status} for ${what}`, "401");
        return must(
          isProblem && seen === detail,
          `${isProblem ? `detail ${show(seen)}` : show(answer.mediaType)} for ${what}`,
          detail,
        );
      });
  }),
];

interface Refusal {
  readonly what: string;
  readonly detail: string;
  readonly answer: Answer | undefined;
  /** What another rule judges: nothing, that no caller is admitted, or that the answer is a 401. */
  readonly elsewhere?: "entry" | "status";
}

function isJudged({ answer, elsewhere }: Refusal): boolean {
  if (answer === undefined) return false;
  if (elsewhere === "status") return answer.status === 401;
  return elsewhere === undefined || !answer.ok;
}

async function refusalsOf(kit: Kit): Promise<readonly Refusal[]> {
  const { graceSeconds, hook } = sessionOf(kit);
  const out = await signIn(kit);
  await logout(kit, out.access);
  const old = await replay(kit);
  const raced = graceSeconds === 0 ? undefined : await presentWithin(kit, 0);
  const ended = "this session has been revoked";
  return [
    { what: "no token at all", detail: "invalid refresh token", answer: await refresh(kit, "not-a-token") },
    {
      what: "an access token",
      detail: "an access token cannot be used to refresh",
      answer: await refresh(kit, (await signIn(kit)).access),
      elsewhere: "entry",
    },
    {
      what: "a token without jti",
      detail: "refresh token has no id",
      answer: await presentCopy(kit, { jti: undefined }),
    },
    {
      what: "a token without fam",
      detail: "refresh token carries no session family",
      answer: await presentCopy(kit, { fam: undefined }),
    },
    {
      what: "a token without grt",
      detail: "this refresh token predates scope-preserving rotation",
      answer: await presentCopy(kit, { grt: undefined }),
      elsewhere: "status",
    },
    {
      what: "a session that was logged out",
      detail: ended,
      answer: await refresh(kit, out.refresh),
      elsewhere: "entry",
    },
    {
      what: "a token that was replayed",
      detail: ended,
      answer: old.hasEnded ? old.answer : undefined,
      elsewhere: "status",
    },
    {
      what: "a token that was just rotated",
      detail: "this refresh token has already been rotated",
      answer: raced?.answer,
      elsewhere: "status",
    },
    {
      what: "a session that the hook has declined",
      detail: "this session is no longer valid",
      answer: hook?.decline === undefined ? undefined : (await declined(kit))?.answer,
      elsewhere: "status",
    },
  ];
}
