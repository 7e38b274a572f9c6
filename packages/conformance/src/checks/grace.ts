import { setTimeout as sleep } from "node:timers/promises";
import type { Answer } from "../answer.ts";
import { check, type Check, given } from "../check.ts";
import type { Verdict } from "../conformance-report.ts";
import type { HttpClient } from "../http-client.ts";
import type { Kit } from "../kit.ts";
import { every, must, notApplicable, ruledOut, statusIs, succeeds } from "../verdict.ts";
import { isRefusal, refusesCaller } from "./callers.ts";
import { needs } from "./pairs.ts";
import { isReusable, logout, type Pair, pairOf, refresh, sessionOf, signIn, visit } from "./session-calls.ts";

/** Extra wait in milliseconds after the grace window closes, because clocks and timers differ. */
const marginMs = 500;

interface Presented {
  /** The token pair that the first request returned. */
  readonly pair: Pair;
  /** The response to the second request. */
  readonly answer: Answer;
  /** Time at which the pair arrived, in milliseconds of `performance.now()`. */
  readonly rotatedAt: number;
  readonly presentedAt: number;
  readonly token: string;
}

/**
 * Sends a refresh token twice, the second time after a fraction of the grace window. Returns undefined if the first
 * request returned no pair, or if the machine was so busy that the second request missed the window.
 */
export async function presentWithin(kit: Kit, part: number): Promise<Presented | undefined> {
  const graceMs = sessionOf(kit).graceSeconds * 1000;
  for (let tries = 0; tries < 3; tries++) {
    const { refresh: token } = await signIn(kit);
    const sentAt = performance.now();
    const pair = pairOf(kit, await refresh(kit, token));
    if (pair === undefined) return undefined;
    const rotatedAt = performance.now();
    await sleep(Math.max(0, sentAt + part * graceMs - rotatedAt));
    const presentedAt = performance.now();
    const answer = await refresh(kit, token);
    if (performance.now() - sentAt < graceMs) return { pair, answer, rotatedAt, presentedAt, token };
  }
  return undefined;
}

const tooLate = notApplicable("no second request was completed within the grace window");

/** Checks that a session continues: the service accepts both tokens of its newest pair. Uses up the refresh token. */
async function continues(kit: Kit, pair: Pair): Promise<Verdict> {
  const visited = await visit(kit, pair.access);
  const renewed = await refresh(kit, pair.refresh);
  return every([
    succeeds(visited, "for the access token from the successful refresh"),
    succeeds(renewed, "for the refresh token from the successful refresh", "a new pair"),
  ]);
}

/** Checks that a session has ended: both tokens of its newest pair are refused, here or at another replica. */
export async function hasEnded(kit: Kit, pair: Pair, at: HttpClient = kit.http): Promise<Verdict> {
  const visited = await visit(kit, pair.access, at);
  const renewed = await refresh(kit, pair.refresh, at);
  const where = at === kit.replica ? " at the second replica" : "";
  const after = `${where} after a used token of its session was replayed`;
  return every([
    refusesCaller(visited, `for an access token${after}`, "401 on the next request"),
    refusesCaller(renewed, `for a refresh token${after}`),
  ]);
}

/** Rotates a token, waits until the window closes, and sends the old token again. */
export async function replayAt(
  kit: Kit,
  second: HttpClient,
  { rotations = 1 }: { readonly rotations?: number } = {},
): Promise<(Pair & { readonly again: Answer }) | undefined> {
  const { refresh: token } = await signIn(kit);
  let pair: Pair | undefined;
  for (let count = 0, next = token; count < rotations; count++, next = pair.refresh) {
    pair = pairOf(kit, await refresh(kit, next));
    if (pair === undefined) return undefined;
  }
  if (pair === undefined) return undefined;
  // Send the access token to both replicas first: a replica may cache that the token is valid.
  for (const each of new Set([kit.http, second])) await visit(kit, pair.access, each);
  const { graceSeconds } = sessionOf(kit);
  await sleep(graceSeconds === 0 ? 0 : graceSeconds * 1000 + marginMs);
  return { ...pair, again: await refresh(kit, token, second) };
}

/** Replays two tokens, each in its own session; all checks share the results. */
export function replay(kit: Kit) {
  return kit.once("replay", async () => {
    // Replay the predecessor of the newest refresh token, and in the other session an older one.
    const [session, older] = await Promise.all([
      replayAt(kit, kit.http),
      replayAt(kit, kit.http, { rotations: 2 }),
    ]);
    if (session === undefined || older === undefined)
      return { answer: undefined, verdict: notApplicable("see REF-1"), hasEnded: false };
    const { again: answer } = session;
    const verdict = every([
      statusIs(answer, 401, "for a used token after the grace window"),
      await hasEnded(kit, session),
      statusIs(older.again, 401, "for an older used token of a session"),
      await hasEnded(kit, older),
    ]);
    return { answer, verdict, hasEnded: verdict.status === "pass" };
  });
}

/** Sends one token twice in immediate succession; all checks share the result. */
function racedAtOnce(kit: Kit): Promise<Verdict> {
  return kit.once("raced", async () => {
    const seen = await presentWithin(kit, 0);
    if (seen === undefined) return tooLate;
    return every([statusIs(seen.answer, 401, "within the window"), await continues(kit, seen.pair)]);
  });
}

/** Checks that sending a used token within the window does not extend the window. */
async function prolonged(kit: Kit): Promise<Verdict> {
  const graceMs = sessionOf(kit).graceSeconds * 1000;
  for (let tries = 0; tries < 3; tries++) {
    const seen = await presentWithin(kit, 0.75);
    if (seen === undefined) return tooLate;
    if (!(await visit(kit, seen.pair.access)).ok) return notApplicable("see REF-14");
    await sleep(Math.max(0, seen.rotatedAt + graceMs + marginMs / 2 - performance.now()));
    await refresh(kit, seen.token);
    // After `presentedAt + graceMs` a wrongly extended window would also have closed, so the check could not detect it.
    if (performance.now() - seen.presentedAt < graceMs) return hasEnded(kit, seen.pair);
  }
  return tooLate;
}

const withReplica = [...needs, "replica"] as const;
const raceRounds = 10;
const logoutRounds = 3;

/** Sends one token to both replicas concurrently; repeats this with several tokens. */
function races(kit: Kit, replica: HttpClient): Promise<Verdict> {
  return kit.once("races", async () => {
    const verdicts: Verdict[] = [];
    for (let round = 0; round < raceRounds; round++) {
      const { refresh: token } = await signIn(kit);
      const answers = await Promise.all([refresh(kit, token), refresh(kit, token, replica)]);
      const won = answers.filter(({ ok }) => ok).length;
      verdicts.push(
        must(
          won === 1,
          `${won} token pairs for one refresh token sent to both replicas concurrently`,
          "one pair",
        ),
      );
    }
    return every(verdicts);
  });
}

export const graceChecks: readonly Check[] = [
  check("REF-5", { needs }, async (kit) => {
    if (sessionOf(kit).graceSeconds === 0) return ruledOut("the service has no grace window");
    if (await isReusable(kit)) return notApplicable("see REF-1");
    return racedAtOnce(kit);
  }),
  check("REF-6", { needs, windowed: true }, async (kit) => {
    if (await isReusable(kit)) return notApplicable("see REF-1");
    return (await replay(kit)).verdict;
  }),
  check("REF-7", { needs, windowed: true }, async (kit) => {
    if (sessionOf(kit).graceSeconds === 0) return ruledOut("the service has no grace window");
    if (await isReusable(kit)) return notApplicable("see REF-1");
    const [own, verdict] = await Promise.all([replay(kit), prolonged(kit)]);
    return own.hasEnded ? verdict : notApplicable("see REF-6");
  }),
  check("REF-14", { needs, windowed: true }, async function* (kit) {
    if (await isReusable(kit)) return notApplicable("see REF-1");
    const { graceSeconds } = sessionOf(kit);
    if (graceSeconds === 0) return ruledOut("see REF-6: without a window every reuse ends the session");
    if ((await racedAtOnce(kit)).status !== "pass") return notApplicable("see REF-5");
    const seen = await presentWithin(kit, 0.7);
    if (seen === undefined) return tooLate;
    const { ok, status } = await visit(kit, seen.pair.access);
    const what = `within the ${graceSeconds} s of the window`;
    yield statusIs(seen.answer, 401, `${what}`);
    yield must(
      ok,
      `${status} for the access token from the successful refresh after the used token was sent again ${what}`,
      "a successful response",
    );
  }),
  check("REF-19", { needs: withReplica }, async (kit) => {
    if (await isReusable(kit)) return notApplicable("see REF-1");
    return races(kit, given(kit.replica));
  }),
  check("REV-3", { needs: withReplica, windowed: true }, async function* (kit) {
    const replica = given(kit.replica);
    // Both replays wait until the window closes, so run them concurrently.
    const [own, session] = await Promise.all([replay(kit), replayAt(kit, replica)]);
    if (!own.hasEnded) return notApplicable("see REF-6");
    if ((await races(kit, replica)).status === "fail") return notApplicable("see REF-19");
    if (session === undefined) return notApplicable("see REF-1");
    const { status } = session.again;
    yield statusIs({ status }, 401, "from the second replica for a token that was used at the first replica");
    yield await hasEnded(kit, session, replica);
    yield await hasEnded(kit, session);
  }),
  check("REV-11", { needs: withReplica, alone: true }, async function* (kit) {
    const replica = given(kit.replica);
    for (let round = 0; round < logoutRounds; round++) {
      const session = await signIn(kit);
      // Send the access token to the second replica first: the replica may cache that the token is valid.
      const before = await visit(kit, session.access, replica);
      await logout(kit, session.access);
      if (!isRefusal(await visit(kit, session.access)) || !isRefusal(await refresh(kit, session.refresh))) {
        return notApplicable("see ISS-5");
      }
      const visited = await visit(kit, session.access, replica);
      const renewed = await refresh(kit, session.refresh, replica);
      yield succeeds(before, "at the second replica before the logout");
      yield refusesCaller(visited, "at the second replica after a logout");
      yield refusesCaller(renewed, "for a refresh at the second replica after a logout");
    }
  }),
];
