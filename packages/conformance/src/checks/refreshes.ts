import type { Answer } from "../answer.ts";
import { check, type Check, given } from "../check.ts";
import type { Verdict } from "../conformance-report.ts";
import type { Kit } from "../kit.ts";
import type { Probe } from "../option-values.ts";
import { show } from "../show.ts";
import { type Claims, withOtherSignature } from "../tokens.ts";
import { every, fail, isDenied, must, mustBe, notApplicable, statusIs, succeeds } from "../verdict.ts";
import { refusesCaller } from "./callers.ts";
import { presentWithin, replay } from "./grace.ts";
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
  sameMembers,
  sessionOf,
  signIn,
  sendControl,
  visit,
} from "./session-calls.ts";

const withHook = [...needs, "session:hook"] as const;

/** Refreshes a session while the hook behaves as `probe` requests. */
async function refreshDuring(kit: Kit, probe: Probe, token: string): Promise<Answer> {
  try {
    await sendControl(kit, probe);
    return await refresh(kit, token);
  } finally {
    await sendControl(kit, given(sessionOf(kit).hook).restore);
  }
}

/**
 * Refreshes once while the hook declines. No other check runs at the same time, because its refreshes would be
 * declined too.
 */
function declined(kit: Kit): Promise<{ answer: Answer; verdict: Verdict } | undefined> {
  return kit.once("declined", async () => {
    const decline = sessionOf(kit).hook?.decline;
    if (decline === undefined) return undefined;
    const session = await signIn(kit);
    // Send the access token to the service first: it may cache that the token is valid.
    await visit(kit, session.access);
    const answer = await refreshDuring(kit, decline, session.refresh);
    const verdict = every([
      statusIs(answer, 401, "for a refresh that the hook declines"),
      refusesCaller(
        await visit(kit, session.access),
        "for the access token of a session whose refresh was declined",
      ),
      refusesCaller(
        await refresh(kit, session.refresh),
        "for the refresh token of a session whose refresh was declined",
      ),
    ]);
    return { answer, verdict };
  });
}

export const hookChecks: readonly Check[] = [
  check("REF-10", { needs: withHook, alone: true }, async (kit) => {
    return (await declined(kit))?.verdict ?? notApplicable("`session.hook.decline` is not set");
  }),
  check("REF-11", { needs: withHook, alone: true }, async function* (kit) {
    const failing = sessionOf(kit).hook?.fail;
    if (failing === undefined) return notApplicable("`session.hook.fail` is not set");
    const session = await signIn(kit);
    const answer = await refreshDuring(kit, failing, session.refresh);
    const again = await refresh(kit, session.refresh);
    yield statusIs(answer, 500, "while the hook throws");
    yield succeeds(again, "for the same token afterwards", "a new pair");
  }),
  check("REF-16", { needs: withHook, alone: true }, async function* (kit) {
    const grant = sessionOf(kit).hook?.grant;
    if (grant === undefined) return notApplicable("`session.hook.grant` is not set");
    const { scopeClaim, rolesClaim } = kit.settings.claims;
    const session = await signIn(kit);
    const had = names(claimsOf(session.access)[rolesClaim]);
    const answer = await refreshDuring(kit, grant.request, session.refresh);
    const pair = pairOf(kit, answer);
    if (pair === undefined) return fail(`${answer.status} without a token pair`, "a new pair");
    const claims = claimsOf(pair.access);
    const [scopes, roles] = [names(claims[scopeClaim]), names(claims[rolesClaim])];
    yield mustBe(sameMembers(scopes, grant.scopes), { scopes }, show(grant.scopes));
    yield mustBe(sameMembers(roles, had), { roles }, show(had));
  }),
];

/** Number of concurrent requests with one token. */
const atOnce = 16;

/** Requires that the service returns no token pair for any kind of invalid refresh token. */
async function rejectsInvalidTokens(kit: Kit, session: Pair): Promise<Verdict> {
  const [, payload = ""] = session.refresh.split(".");
  const none = Buffer.from(JSON.stringify({ alg: "none", typ: "JWT" })).toString("base64url");
  const verdicts: Verdict[] = [];
  for (const [what, token] of [
    ["an access token", session.access],
    ["a refresh token with another signature", withOtherSignature(session.refresh)],
    ["a refresh token with alg none", `${none}.${payload}.`],
  ] as const) {
    verdicts.push(isDenied(await refresh(kit, token), `from /auth/refresh for ${what}`, "401"));
  }
  return every(verdicts);
}

const notTaken: Verdict = notApplicable("the service does not accept refresh tokens that the kit signed");

export const refreshChecks: readonly Check[] = [
  check("REF-1", { needs }, async function* (kit) {
    const session = await signIn(kit);
    const rejected = await rejectsInvalidTokens(kit, await signIn(kit));
    const answer = await refresh(kit, session.refresh);
    const pair = pairOf(kit, answer);
    if (pair === undefined) return fail(`${answer.status} without a token pair`, "a new pair");
    const visited = await visit(kit, pair.access);
    const isNew = pair.access !== session.access && pair.refresh !== session.refresh;
    yield must(isNew, "a token that the client already had", "two new tokens");
    yield succeeds(visited, "for the new access token");
    yield must(!(await isReusable(kit)), "a refresh token was accepted twice", "401 for a used token");
    yield rejected;
  }),
  check("REF-4", { needs }, async function* (kit) {
    if (await isReusable(kit)) return notApplicable("see REF-1");
    const { refresh: token } = await signIn(kit);
    const answers = await Promise.all(Array.from({ length: atOnce }, () => refresh(kit, token)));
    const won = answers.filter(({ ok }) => ok).length;
    const lost = answers.filter(({ status }) => status === 401).length;
    yield must(
      won === 1,
      `${won} token pairs for one refresh token sent ${atOnce} times concurrently`,
      "one pair",
    );
    yield must(won + lost === atOnce, `${atOnce - won - lost} responses other than 200 and 401`, "401");
  }),
  check("REF-12", { needs: [...needs, "keys"] }, async (kit) => {
    const answer = await presentCopy(kit, { grt: undefined });
    if (answer === undefined) return notTaken;
    return statusIs(answer, 401, "for a refresh token without grt");
  }),
  check("REF-15", { needs: [...needs, "keys"] }, async function* (kit) {
    const { lifetimeDays } = sessionOf(kit);
    if (lifetimeDays === 0) return notApplicable("`session.lifetime_days` is not set");
    const begun = (seconds: number): Claims => ({
      auth_time: kit.tokens.now() - lifetimeDays * 86_400 + seconds,
    });
    const old = await presentCopy(kit, begun(-60));
    const young = await presentCopy(kit, begun(600));
    if (old === undefined || young === undefined) return notTaken;
    yield statusIs(old, 401, "for a session that is too old");
    yield succeeds(young, "for a session that is not yet too old", "a new pair");
  }),
  check("REF-13", { needs, windowed: true, alone: true }, async function* (kit) {
    for (const [what, detail, answer, elsewhere] of await refusals(kit)) {
      if (answer === undefined || isJudgedElsewhere(answer, elsewhere)) continue;
      const seen = answer.object?.["detail"];
      const isProblem = answer.mediaType === "application/problem+json";
      const shown = isProblem ? `detail ${show(seen)}` : show(answer.mediaType);
      yield answer.status === 401
        ? must(isProblem && seen === detail, `${shown} for ${what}`, detail)
        : fail(`${answer.status} for ${what}`, "401");
    }
  }),
];

/**
 * A failure that another rule reports, so this rule skips the response: the refresh succeeded (`entry`), or the status
 * is not 401 (`status`).
 */
type Elsewhere = "entry" | "status" | undefined;

function isJudgedElsewhere(answer: Answer, elsewhere: Elsewhere): boolean {
  return elsewhere === "status" ? answer.status !== 401 : elsewhere === "entry" && answer.ok;
}

type Refusal = readonly [what: string, detail: string, answer: Answer | undefined, elsewhere?: Elsewhere];

async function refusals(kit: Kit): Promise<readonly Refusal[]> {
  const { graceSeconds, hook } = sessionOf(kit);
  const out = await signIn(kit);
  await logout(kit, out.access);
  const old = await replay(kit);
  const raced = graceSeconds === 0 ? undefined : await presentWithin(kit, 0);
  const hasDeclined = hook?.decline === undefined ? undefined : await declined(kit);
  const asRefresh = await refresh(kit, (await signIn(kit)).access);
  const without = (claim: string): Promise<Answer | undefined> => presentCopy(kit, { [claim]: undefined });
  const noGrant = "this refresh token predates scope-preserving rotation";
  const ended = "this session has been revoked";
  const rotated = "this refresh token has already been rotated";
  return [
    ["a token that is not a JWT", "invalid refresh token", await refresh(kit, "not-a-token")],
    ["an access token", "an access token cannot be used to refresh", asRefresh, "entry"],
    ["a token without jti", "refresh token has no id", await without("jti")],
    ["a token without fam", "refresh token carries no session family", await without("fam")],
    ["a token without grt", noGrant, await without("grt"), "status"],
    ["a session that was logged out", ended, await refresh(kit, out.refresh), "entry"],
    ["a used token after the grace window", ended, old.hasEnded ? old.answer : undefined, "status"],
    ["a used token within the grace window", rotated, raced?.answer, "status"],
    [
      "a session that the hook has declined",
      "this session is no longer valid",
      hasDeclined?.answer,
      "status",
    ],
  ];
}
