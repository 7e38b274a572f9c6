import { startPostgres, startRedis } from "@svc/dev-services";
import { setTimeout as delay } from "node:timers/promises";
import { type AnswerCutter, startAnswerCutter } from "./harness/answer-cutter.ts";
import { keepAliveAgent, type Outcome, tally } from "./harness/client.ts";
import { asBuilt, type Experiment, type Run } from "./harness/experiment.ts";
import type { Report } from "./harness/report.ts";
import { startService } from "./harness/service-process.ts";
import {
  inWords,
  orders,
  type Pair,
  pairOf,
  refresh,
  type Sessions,
  signIn,
} from "./harness/session-client.ts";
import { together } from "./harness/together.ts";
import type { SessionsSettings } from "./services/sessions.ts";

const connections = 16;
const secret = "a secret of the tests, which has more than 32 bytes";
const racedText = "401 this refresh token has already been rotated";
const revokedText = "401 this session has been revoked";

/** One refresh token at two replicas at the same instant, with answers of Redis that are lost, and once more later. */
export const refreshRace: Experiment = {
  name: "refresh-race",
  description:
    "one refresh token sent to two replicas over 16 connections each: one rotation, and a replay ends the session",
  brokenVariants: ["broken-get-then-set", "broken-no-nonce", "broken-no-family"],
  async run(run, report) {
    await using redis = await startRedis();
    const { variant, quick } = run;
    const given = variant === asBuilt ? {} : { variant };
    const graceSeconds = quick ? 3 : 10;
    const base: SessionsSettings = { secret, graceSeconds, ...given };
    const rounds = run.cases ?? (quick ? 20 : 1000);
    // In a short run one broken rule is enough.
    const is = (...variants: readonly string[]): boolean =>
      !quick || variant === asBuilt || variants.includes(variant);

    const later: (() => Promise<void>)[] = [];
    const [one, two] = await startTwo({ ...base, redisUrl: redis.url });
    await using a = one;
    await using b = two;
    const races = await race("Redis", { replicas: [a, b], rounds, run, report });
    await using postgres =
      variant === asBuilt && !quick ? await startPostgres({ purpose: "test" }) : undefined;
    const inSql = postgres && (await startTwo({ ...base, postgresUrl: postgres.url }));
    await using c = inSql?.[0];
    await using d = inSql?.[1];
    if (c !== undefined && d !== undefined) {
      const sqlRaces = await race("PostgreSQL", { replicas: [c, d], rounds, run, report });
      later.push(() =>
        afterTheWindow("PostgreSQL", { replicas: [c, d], races: sqlRaces, graceSeconds, report }),
      );
    }
    if (is("broken-no-nonce")) {
      await using cutter = await startAnswerCutter(redis.port);
      await using cut = await startReplica({ ...base, redisUrl: cutter.url });
      await loseAnswers({ cut, other: b, cutter, run, report });
    }
    if (is("broken-no-family")) {
      await afterTheWindow("Redis", { replicas: [a, b], races, graceSeconds, report });
    }
    for (const each of later) await each();
  },
};

function startTwo(settings: SessionsSettings): Promise<[Replica, Replica]> {
  return together([startReplica(settings), startReplica(settings)]);
}

interface Replica extends Sessions, AsyncDisposable {}

async function startReplica(settings: SessionsSettings): Promise<Replica> {
  const service = await startService("sessions.ts", settings);
  const agent = keepAliveAgent(connections);
  return {
    port: service.port,
    agent,
    async [Symbol.asyncDispose]() {
      agent.destroy();
      await service[Symbol.asyncDispose]();
    },
  };
}

/** A session whose first refresh token has been used. */
interface Raced {
  readonly first: Pair;
  readonly second: Pair;
  readonly at: number;
}

interface Race {
  readonly replicas: readonly [Sessions, Sessions];
  readonly rounds: number;
  readonly run: Run;
  readonly report: Report;
}

/** Presents a token as often as there are connections, to both replicas in one turn of the event loop. */
async function presentAtOnce(replicas: readonly Sessions[], token: string): Promise<readonly Outcome[]> {
  const everywhere = Array.from({ length: connections }, () => replicas).flat();
  return Promise.all(everywhere.map((each) => refresh(each, token)));
}

async function race(name: string, { replicas, rounds, run, report }: Race): Promise<readonly Raced[]> {
  const races: Raced[] = [];
  const others: string[] = [];
  const won = [0, 0];
  let alone = 0;
  let raced = 0;
  // All connections are there before it counts.
  await Promise.all(replicas.flatMap((each) => Array.from({ length: connections }, () => orders(each, ""))));
  for (const first of await signIn(replicas[0], rounds)) {
    const outcomes = await presentAtOnce(replicas, first.refresh_token);
    const winners = outcomes.filter((each) => each.status === 200);
    const [winner] = winners;
    if (winners.length === 1) alone += 1;
    outcomes.forEach((each, n) => {
      if (each === winner) won[n % 2] = (won[n % 2] ?? 0) + 1;
      else if (inWords(each) === racedText) raced += 1;
      else others.push(inWords(each));
    });
    const second = winner && pairOf(winner);
    if (second !== undefined) races.push({ first, second, at: performance.now() });
  }
  const presented = rounds * 2 * connections;
  report.figure(name, "rounds", rounds, "count");
  report.figure(name, "presentations", presented, "count");
  report.figure(name, "rounds with one rotation", alone, "count");
  report.figure(name, "won by the first replica", won[0] ?? 0, "count");
  report.figure(name, "won by the second replica", won[1] ?? 0, "count");
  report.figure(name, "raced", raced, "count");
  report.rule(alone === rounds, `${name}: one presentation of each round rotates`);
  report.rule(
    others.length === 0,
    `${name}: all others are told that it has been rotated (${tally(others)})`,
  );
  // Few rounds may all go to one of them.
  if (!run.quick)
    report.rule(
      won.every((each) => each > 0),
      `${name}: both replicas win`,
    );
  return races;
}

interface Losses {
  readonly cut: Sessions;
  readonly other: Sessions;
  readonly cutter: AnswerCutter;
  readonly run: Run;
  readonly report: Report;
}

/** The script has run, and its answer is lost with the connection. */
async function loseAnswers({ cut, other, cutter, run, report }: Losses): Promise<void> {
  const rounds = run.quick ? 3 : 100;
  // Redis has to know the script, or what is cut is that it does not.
  await refresh(cut, (await signIn(cut, 1))[0]?.refresh_token ?? "");
  const name = "answer lost";
  const strange: string[] = [];
  let won = 0;
  let usable = 0;
  let wonByCut = 0;
  let alone = 0;
  for (const { refresh_token: token } of await signIn(cut, rounds)) {
    cutter.cutNext();
    const outcome = await refresh(cut, token);
    const pair = pairOf(outcome);
    if (pair === undefined) strange.push(inWords(outcome));
    else won += 1;
    const again = inWords(await refresh(other, token));
    if (again !== racedText) strange.push(`again: ${again}`);
    const uses = await Promise.all([cut, other].map((each) => orders(each, pair?.access_token ?? "")));
    if (uses.every((each) => each.status === 200)) usable += 1;
  }
  for (const { refresh_token: token } of await signIn(cut, rounds)) {
    cutter.cutNext();
    const outcomes = await presentAtOnce([cut, other], token);
    if (outcomes.filter((each) => each.status === 200).length === 1) alone += 1;
    wonByCut += outcomes.filter((each, n) => each.status === 200 && n % 2 === 0).length;
    strange.push(...outcomes.map(inWords).filter((each) => !isExpected(each)));
  }
  report.figure(name, "answers lost", cutter.cuts, "count");
  report.figure(name, "presented alone", rounds, "count");
  report.figure(name, "winners with their pair", won, "count");
  report.figure(name, "pairs that both replicas take", usable, "count");
  report.figure(name, "presented at once", rounds, "count");
  report.figure(name, "rounds with one rotation", alone, "count");
  report.figure(name, "won where the answer was lost", wonByCut, "count");
  report.rule(cutter.cuts === 2 * rounds, `${name}: once in each round`);
  report.rule(won === rounds && usable === rounds, `${name}: the winner still gets its pair`);
  report.rule(alone === rounds, `${name}: one presentation of each round rotates`);
  report.rule(strange.length === 0, `${name}: all others are refused (${tally(strange)})`);
}

/** A check that was lost with the same connection is an outage for its request, and nothing is used up then. */
function isExpected(words: string): boolean {
  return words === "200" || words === racedText || words.startsWith("503 ");
}

interface Later {
  readonly replicas: readonly [Sessions, Sessions];
  readonly races: readonly Raced[];
  readonly graceSeconds: number;
  readonly report: Report;
}

/** The pairs of the winners are good on both replicas, until somebody presents the old token after the window. */
async function afterTheWindow(name: string, { replicas, races, graceSeconds, report }: Later): Promise<void> {
  const when = `${name}, after the window`;
  const [a, b] = replicas;
  const before = await each(races, ({ second }) => [
    orders(a, second.access_token),
    orders(b, second.access_token),
  ]);
  const last = races.at(-1)?.at ?? 0;
  await delay(Math.max(0, last + graceSeconds * 1000 + 200 - performance.now()));
  const replays: string[] = [];
  const access: string[] = [];
  const refreshes: string[] = [];
  let turn = 0;
  await each(races, async ({ first, second }) => {
    replays.push(inWords(await refresh(replicas[turn++ % 2] ?? a, first.refresh_token)));
    for (const replica of replicas) {
      access.push(inWords(await orders(replica, second.access_token)));
      refreshes.push(inWords(await refresh(replica, second.refresh_token)));
    }
  });
  const goodBefore = before.flat().filter((outcome) => outcome.status === 200);
  report.figure(when, "access tokens good before, two replicas", goodBefore.length, "count");
  report.figure(when, "replayed", count(replays, revokedText), "count");
  report.figure(when, "access tokens refused, two replicas", count(access, "401"), "count");
  report.figure(when, "refresh tokens refused, two replicas", count(refreshes, revokedText), "count");
  report.rule(goodBefore.length === 2 * races.length, `${when}: the winner's pair is good until then`);
  report.rule(count(replays, revokedText) === races.length, `${when}: it is a replay (${tally(replays)})`);
  report.rule(
    races.length > 0 &&
      count(access, "401") === access.length &&
      count(refreshes, revokedText) === refreshes.length,
    `${when}: the next request with either token of the session is refused by both replicas ` +
      `(${tally(access)}; ${tally(refreshes)})`,
  );
}

/** Sixteen at a time. */
async function each<T>(
  races: readonly Raced[],
  ask: (raced: Raced) => Promise<T> | readonly Promise<T>[],
): Promise<readonly T[][]> {
  const results: T[][] = [];
  const left = races.values();
  const work = async (): Promise<void> => {
    for (const raced of left) results.push(await Promise.all([ask(raced)].flat()));
  };
  await Promise.all(Array.from({ length: connections }, work));
  return results;
}

function count(found: readonly string[], wanted: string): number {
  return found.filter((text) => text === wanted || text.startsWith(`${wanted} `)).length;
}
