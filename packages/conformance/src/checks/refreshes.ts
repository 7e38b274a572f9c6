import type { Answer } from "../answer.ts";
import { type Check, every, must, notApplicable, type Verdict } from "../check.ts";
import type { Kit } from "../kit.ts";
import { show } from "../show.ts";
import type { Claims } from "../tokens.ts";
import { presentWithin, replay } from "./grace.ts";
import { declined } from "./hook.ts";
import { needs } from "./pairs.ts";
import { copyOf, isReusable, logout, pairOf, refresh, sessionOf, signIn, visit } from "./session-calls.ts";

/** One token, presented so many times at once; how often it was good for a pair. */
const atOnce = 16;

/**
 * Presents a refresh token that the kit has made after one of the service's own; undefined when the service does not
 * take such tokens at all.
 */
export async function presentCopy(kit: Kit, changes: Claims): Promise<Answer | undefined> {
  if (kit.settings.keys === undefined) return undefined;
  const session = await signIn(kit);
  const isTaken = await kit.once("copies", async () => (await refresh(kit, copyOf(kit, session.refresh))).ok);
  return isTaken ? refresh(kit, copyOf(kit, session.refresh, changes)) : undefined;
}

export const notTaken: Verdict = notApplicable("the service does not take refresh tokens that the kit makes");

export const refreshChecks: readonly Check[] = [
  {
    rule: "REF-1",
    needs,
    async run(kit) {
      const session = await signIn(kit);
      const answer = await refresh(kit, session.refresh);
      const pair = pairOf(kit, answer);
      if (pair === undefined) return must(false, `${answer.status} without a pair`, "a new pair");
      const visited = await visit(kit, pair.access);
      const isNew = pair.access !== session.access && pair.refresh !== session.refresh;
      return every([
        must(isNew, "a token that the client had before", "two new tokens"),
        must(visited.ok, `${visited.status} for the new access token`, "an answer"),
        must(
          !(await isReusable(kit)),
          "a refresh token is good for two pairs",
          "401 for a token that was used",
        ),
      ]);
    },
  },
  {
    rule: "REF-4",
    needs,
    async run(kit) {
      if (await isReusable(kit)) return notApplicable("see REF-1");
      const { refresh: token } = await signIn(kit);
      const answers = await Promise.all(Array.from({ length: atOnce }, () => refresh(kit, token)));
      const won = answers.filter(({ ok }) => ok).length;
      const lost = answers.filter(({ status }) => status === 401).length;
      return every([
        must(won === 1, `${won} pairs for a token that was presented ${atOnce} times at once`, "one"),
        must(won + lost === atOnce, `${atOnce - won - lost} other answers than 200 and 401`, "401"),
      ]);
    },
  },
  {
    rule: "REF-12",
    needs: [...needs, "keys"],
    async run(kit) {
      const answer = await presentCopy(kit, { grt: undefined });
      if (answer === undefined) return notTaken;
      return must(answer.status === 401, `${answer.status} for a refresh token without grt`, "401");
    },
  },
  {
    rule: "REF-15",
    needs: [...needs, "keys"],
    async run(kit) {
      const { lifetimeDays } = sessionOf(kit);
      if (lifetimeDays === 0) return notApplicable("no `session.lifetime_days` was given");
      const begun = (seconds: number): Claims => ({
        auth_time: kit.tokens.now() - lifetimeDays * 86_400 + seconds,
      });
      const old = await presentCopy(kit, begun(-60));
      const young = await presentCopy(kit, begun(600));
      if (old === undefined || young === undefined) return notTaken;
      return every([
        must(old.status === 401, `${old.status} for a session that is too old`, "401"),
        must(young.ok, `${young.status} for a session that is nearly too old`, "a new pair"),
      ]);
    },
  },
  {
    rule: "REF-13",
    needs,
    windowed: true,
    alone: true,
    async run(kit) {
      const refusals = await refusalsOf(kit);
      return every(
        refusals
          // Who is let in, or gets another status, is for the rule of the refusal.
          .filter(([, , answer]) => answer?.status === 401)
          .map(([what, detail, answer]) => {
            const seen = answer?.object?.["detail"];
            const isProblem = answer?.mediaType === "application/problem+json";
            return must(
              isProblem && seen === detail,
              `${isProblem ? `detail ${show(seen)}` : show(answer?.mediaType)} for ${what}`,
              detail,
            );
          }),
      );
    },
  },
];

async function refusalsOf(
  kit: Kit,
): Promise<readonly (readonly [what: string, detail: string, answer: Answer | undefined])[]> {
  const { graceSeconds, hook } = sessionOf(kit);
  const out = await signIn(kit);
  await logout(kit, out.access);
  const old = await replay(kit);
  const raced = graceSeconds === 0 ? undefined : await presentWithin(kit, 0);
  const ended = "this session has been revoked";
  return [
    ["no token at all", "invalid refresh token", await refresh(kit, "not-a-token")],
    [
      "an access token",
      "an access token cannot be used to refresh",
      await refresh(kit, (await signIn(kit)).access),
    ],
    ["a token without jti", "refresh token has no id", await presentCopy(kit, { jti: undefined })],
    [
      "a token without fam",
      "refresh token carries no session family",
      await presentCopy(kit, { fam: undefined }),
    ],
    [
      "a token without grt",
      "this refresh token predates scope-preserving rotation",
      await presentCopy(kit, { grt: undefined }),
    ],
    ["a session that was logged out", ended, await refresh(kit, out.refresh)],
    ["a token that was replayed", ended, old.hasEnded ? old.answer : undefined],
    ["a token that was just rotated", "this refresh token has already been rotated", raced?.answer],
    [
      "a session that the hook has declined",
      "this session is no longer valid",
      hook?.decline === undefined ? undefined : (await declined(kit))?.answer,
    ],
  ];
}
