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
import { createRetry, type Retry, startStallMonitor } from "./harness/stall-monitor.ts";
import type { SessionsSettings } from "./services/sessions.ts";

const connections = 16;
const secret = "a secret of the tests, which has more than 32 bytes";
const racedText = "401 this refresh token has already been rotated";
const revokedText = "401 this session has been revoked";
/** The status of a request whose store command missed its deadline. */
const unavailable = 503;

/**
 * Sends one refresh token to two replicas at the same instant, even while replies of Redis are lost, and sends it again
 * after the grace window.
 */
export const refreshRace: Experiment = {
  name: "refresh-race",
  description:
    "one refresh token sent to two replicas over 16 connections each: one rotation, and a replay ends the session",
  brokenVariants: ["broken-get-then-set", "broken-no-winner", "broken-no-nonce", "broken-no-family"],
  async run(run, report) {
    await using redis = await startRedis();
    const { variant, quick } = run;
    const given = variant === asBuilt ? {} : { variant };
    const graceSeconds = quick ? 3 : 10;
    // Fail closed, so that a request is accepted only after the store has responded.
    const base: SessionsSettings = { secret, graceSeconds, failOpen: false, ...given };
    // A variant fails in every round.
    const rounds = run.cases ?? (!quick ? 1000 : variant === asBuilt ? 20 : 5);
    // A short run of a variant runs only the part that breaks its rule.
    const is = (...variants: readonly string[]): boolean =>
      !quick || variant === asBuilt || variants.includes(variant);

    const later: (() => Promise<void>)[] = [];
    const inRedis: SessionsSettings = { ...base, redisUrl: redis.url };
    await using stallMonitor = await startStallMonitor();
    const retry = createRetry(stallMonitor);
    if (quick && variant === "broken-no-nonce") {
      // This variant shows its fault only with lost responses, without a race.
      await using other = await startReplica(inRedis);
      await losses({ retry, other, redisPort: redis.port, base, run, report });
      return;
    }
    // In a short run, one replica is enough to show a variant's fault.
    const [one, two] = await together([
      startReplica(inRedis),
      quick && variant !== asBuilt ? undefined : startReplica(inRedis),
    ]);
    await using a = one;
    await using second = two;
    const b = second ?? a;
    const raced: Race = { retry, replicas: [a, b], rounds, run, report };
    const races = await race("Redis", raced);
    await using postgres =
      variant === asBuilt && !quick ? await startPostgres({ purpose: "test" }) : undefined;
    const inSql = postgres && (await startTwo({ ...base, postgresUrl: postgres.url }));
    await using c = inSql?.[0];
    await using d = inSql?.[1];
    if (c !== undefined && d !== undefined) {
      const racedInSql: Race = { ...raced, replicas: [c, d] };
      const sqlRaces = await race("PostgreSQL", racedInSql);
      later.push(() => afterTheWindow("PostgreSQL", { ...racedInSql, races: sqlRaces, graceSeconds }));
    }
    if (is()) await losses({ retry, other: b, redisPort: redis.port, base, run, report });
    if (is("broken-no-family")) {
      await afterTheWindow("Redis", { ...raced, races, graceSeconds });
    }
    for (const each of later) await each();
    report.figure("all", "rounds repeated because the machine stalled", retry.discarded, "count");
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

/** A session whose first refresh token was rotated in a race. `second` is the pair of the request that won. */
interface Raced {
  readonly first: Pair;
  readonly second: Pair;
  readonly at: number;
}

interface Race {
  readonly retry: Retry;
  readonly replicas: readonly [Sessions, Sessions];
  readonly rounds: number;
  readonly run: Run;
  readonly report: Report;
}

/** Sends a refresh with this token over all connections to both replicas, in one turn of the event loop. */
async function presentAtOnce(replicas: readonly Sessions[], token: string): Promise<readonly Outcome[]> {
  const everywhere = Array.from({ length: connections }, () => replicas).flat();
  return Promise.all(everywhere.map((each) => refresh(each, token)));
}

function isOneRotation(outcomes: readonly Outcome[]): boolean {
  const others = outcomes.filter((each) => inWords(each) !== racedText);
  return others.length === 1 && others[0]?.status === 200;
}

function winnersOf(outcomes: readonly Outcome[]): number {
  return outcomes.filter((each) => each.status === 200).length;
}

/**
 * Returns whether a request got 503. A round without a 503 and without a winner is a fault, even if the machine
 * stalled.
 */
function hasUnavailable(outcomes: readonly Outcome[]): boolean {
  return outcomes.some((each) => each.status === unavailable);
}

/** Runs one race for a token, and repeats it with another token if a stall may have caused the result. */
async function raceOnce(
  { retry, replicas }: Pick<Race, "retry" | "replicas">,
  given?: Pair,
): Promise<{ readonly first: Pair; readonly outcomes: readonly Outcome[]; readonly at: number }> {
  return retry(
    async (turn) => {
      const first = turn === 0 ? given : undefined;
      const pair = first ?? (await signIn(replicas[0], 1))[0];
      if (pair === undefined) throw new Error("no session was started");
      const outcomes = await presentAtOnce(replicas, pair.refresh_token);
      return { first: pair, outcomes, at: performance.now() };
    },
    // More than one winner is a fault, even if the machine stalled.
    ({ outcomes }) => !isOneRotation(outcomes) && winnersOf(outcomes) <= 1 && hasUnavailable(outcomes),
  );
}

async function race(name: string, { retry, replicas, rounds, run, report }: Race): Promise<readonly Raced[]> {
  const races: Raced[] = [];
  const others: string[] = [];
  const won = [0, 0];
  let alone = 0;
  let raced = 0;
  // Open all connections before the first round.
  await Promise.all(replicas.flatMap((each) => Array.from({ length: connections }, () => orders(each, ""))));
  for (const given of await signIn(replicas[0], rounds)) {
    const { first, outcomes, at } = await raceOnce({ retry, replicas }, given);
    const winners = outcomes.filter((each) => each.status === 200);
    const [winner] = winners;
    if (winners.length === 1) alone += 1;
    outcomes.forEach((each, n) => {
      if (each === winner) won[n % 2] = (won[n % 2] ?? 0) + 1;
      else if (inWords(each) === racedText) raced += 1;
      else others.push(inWords(each));
    });
    const second = winner && pairOf(winner);
    if (second !== undefined) races.push({ first, second, at });
  }
  const presented = rounds * 2 * connections;
  report.figure(name, "rounds", rounds, "count");
  report.figure(name, "presentations", presented, "count");
  report.figure(name, "rounds with one rotation", alone, "count");
  report.figure(name, "won by the first replica", won[0] ?? 0, "count");
  report.figure(name, "won by the second replica", won[1] ?? 0, "count");
  report.figure(name, "raced", raced, "count");
  report.rule(alone === rounds, `${name}: one request of each round rotates the token`);
  report.rule(
    others.length === 0,
    `${name}: all other requests are refused as already rotated (${tally(others)})`,
  );
  // With few rounds the same replica may win all of them.
  if (!run.quick)
    report.rule(
      won.every((each) => each > 0),
      `${name}: each replica wins some rounds`,
    );
  return races;
}

interface Losses {
  readonly retry: Retry;
  readonly cut: Sessions;
  readonly other: Sessions;
  readonly cutter: AnswerCutter;
  readonly run: Run;
  readonly report: Report;
}

/** Starts a replica that loses replies from Redis, and runs the rounds with it and `other`. */
async function losses({
  redisPort,
  base,
  ...rest
}: Omit<Losses, "cut" | "cutter"> & {
  readonly redisPort: number;
  readonly base: SessionsSettings;
}): Promise<void> {
  await using cutter = await startAnswerCutter(redisPort);
  await using cut = await startReplica({ ...base, redisUrl: cutter.url });
  await loseAnswers({ ...rest, cut, cutter });
}

/** In each round, drops the reply to a script that Redis has run, by closing the connection. */
async function loseAnswers({ retry, cut, other, cutter, run, report }: Losses): Promise<void> {
  const rounds = run.quick ? 3 : 100;
  // Load the script first: otherwise the cutter would drop the reply to EVALSHA that reports an unknown script.
  await refresh(cut, await newToken(cut));
  const name = "answer lost";
  const strange: string[] = [];
  let won = 0;
  let usable = 0;
  let wonByCut = 0;
  let alone = 0;
  let cuts = 0;
  for (let round = 0; round < rounds; round++) {
    const found = await retry(
      () => loseOne(cut, other, cutter),
      (lost) =>
        !isWon(lost) &&
        winnersOf([lost.outcome, lost.again]) <= 1 &&
        hasUnavailable([lost.outcome, lost.again, ...lost.uses]),
    );
    if (pairOf(found.outcome) === undefined) strange.push(inWords(found.outcome));
    else won += 1;
    const again = inWords(found.again);
    if (again !== racedText) strange.push(`again: ${again}`);
    if (areUsable(found)) usable += 1;
    cuts += found.cuts;
  }
  for (let round = 0; round < rounds; round++) {
    const { outcomes, ...found } = await retry(
      async () => {
        const token = await newToken(cut);
        const before = cutter.cuts;
        cutter.cutNext();
        return { outcomes: await presentAtOnce([cut, other], token), cuts: cutter.cuts - before };
      },
      (raced) => winnersOf(raced.outcomes) === 0 && hasUnavailable(raced.outcomes),
    );
    if (winnersOf(outcomes) === 1) alone += 1;
    wonByCut += outcomes.filter((each, n) => each.status === 200 && n % 2 === 0).length;
    strange.push(...outcomes.map(inWords).filter((each) => !isExpected(each)));
    cuts += found.cuts;
  }
  report.figure(name, "answers lost", cuts, "count");
  report.figure(name, "presented alone", rounds, "count");
  report.figure(name, "winners with their pair", won, "count");
  report.figure(name, "pairs that both replicas accept", usable, "count");
  report.figure(name, "presented at once", rounds, "count");
  report.figure(name, "rounds with one rotation", alone, "count");
  report.figure(name, "won where the answer was lost", wonByCut, "count");
  report.rule(cuts === 2 * rounds, `${name}: one reply is lost in each round`);
  report.rule(won === rounds && usable === rounds, `${name}: the winner still gets its pair`);
  report.rule(alone === rounds, `${name}: one request of each round rotates the token`);
  report.rule(strange.length === 0, `${name}: all other requests are refused (${tally(strange)})`);
}

interface Lost {
  readonly outcome: Outcome;
  /** The response of the other replica to a refresh with the same token. */
  readonly again: Outcome;
  /** Requests on both replicas with the access token of the winner. */
  readonly uses: readonly Outcome[];
  readonly cuts: number;
}

function areUsable({ uses }: Lost): boolean {
  return uses.every((each) => each.status === 200);
}

function isWon(lost: Lost): boolean {
  return pairOf(lost.outcome) !== undefined && inWords(lost.again) === racedText && areUsable(lost);
}

async function loseOne(cut: Sessions, other: Sessions, cutter: AnswerCutter): Promise<Lost> {
  const token = await newToken(cut);
  const before = cutter.cuts;
  cutter.cutNext();
  const outcome = await refresh(cut, token);
  const again = await refresh(other, token);
  const access = pairOf(outcome)?.access_token ?? "";
  const uses = await Promise.all([cut, other].map((each) => orders(each, access)));
  return { outcome, again, uses, cuts: cutter.cuts - before };
}

async function newToken(at: Sessions): Promise<string> {
  return (await signIn(at, 1))[0]?.refresh_token ?? "";
}

/**
 * Returns whether a response is permitted. A revocation check whose connection was closed returns 503, and uses up no
 * token.
 */
function isExpected(words: string): boolean {
  return words === "200" || words === racedText || words.startsWith("503 ");
}

interface Later extends Race {
  readonly races: readonly Raced[];
  readonly graceSeconds: number;
}

/** Checks that the winners' pairs are valid on both replicas until the old token is used after the grace window. */
async function afterTheWindow(name: string, later: Later): Promise<void> {
  const { report } = later;
  const when = `${name}, after the window`;
  const found = await later.retry(
    async (turn) => replay(turn === 0 ? later : { ...later, races: await raceAgain(later) }),
    (found) =>
      !isEnded(found) &&
      !goesOn(found) &&
      hasUnavailable([...found.before, ...found.replays, ...found.access, ...found.refreshes]),
  );
  const { races } = found;
  const replays = found.replays.map(inWords);
  const access = found.access.map(inWords);
  const refreshes = found.refreshes.map(inWords);
  const goodBefore = found.before.filter((outcome) => outcome.status === 200);
  report.figure(when, "access tokens good before, two replicas", goodBefore.length, "count");
  report.figure(when, "replayed", count(replays, revokedText), "count");
  report.figure(when, "access tokens refused, two replicas", count(access, "401"), "count");
  report.figure(when, "refresh tokens refused, two replicas", count(refreshes, revokedText), "count");
  report.rule(goodBefore.length === 2 * races.length, `${when}: the winner's pair is valid until then`);
  report.rule(
    count(replays, revokedText) === races.length,
    `${when}: a refresh with the old token counts as a replay (${tally(replays)})`,
  );
  report.rule(
    races.length > 0 &&
      count(access, "401") === access.length &&
      count(refreshes, revokedText) === refreshes.length,
    `${when}: the next request with either token of the session is refused by both replicas ` +
      `(${tally(access)}; ${tally(refreshes)})`,
  );
}

async function raceAgain(later: Later): Promise<readonly Raced[]> {
  const races: Raced[] = [];
  for (let round = 0; round < later.races.length; round++) {
    const { first, outcomes, at } = await raceOnce(later);
    const second = outcomes.map(pairOf).find((pair) => pair !== undefined);
    if (second !== undefined) races.push({ first, second, at });
  }
  return races;
}

interface Replayed {
  readonly races: readonly Raced[];
  readonly before: readonly Outcome[];
  readonly replays: readonly Outcome[];
  readonly access: readonly Outcome[];
  readonly refreshes: readonly Outcome[];
}

/** Returns whether the pairs were valid before the replay, and both tokens of each pair are refused after it. */
function isEnded({ before, replays, access, refreshes }: Replayed): boolean {
  return (
    before.every((each) => each.status === 200) &&
    [...replays, ...refreshes].every((each) => inWords(each) === revokedText) &&
    access.every((each) => each.status === 401)
  );
}

/**
 * Returns whether an old token returned a new pair, or a revoked session continued: a fault, even if the machine
 * stalled.
 */
function goesOn({ replays, refreshes }: Replayed): boolean {
  const isRevoked = replays.every((each) => inWords(each) === revokedText);
  return winnersOf(replays) > 0 || (isRevoked && winnersOf(refreshes) > 0);
}

async function replay({ replicas, races, graceSeconds }: Later): Promise<Replayed> {
  const [a, b] = replicas;
  const before = await each(races, ({ second }) => [
    orders(a, second.access_token),
    orders(b, second.access_token),
  ]);
  const last = races.at(-1)?.at ?? 0;
  await delay(Math.max(0, last + graceSeconds * 1000 + 200 - performance.now()));
  const replays: Outcome[] = [];
  const access: Outcome[] = [];
  const refreshes: Outcome[] = [];
  let turn = 0;
  await each(races, async ({ first, second }) => {
    replays.push(await refresh(replicas[turn++ % 2] ?? a, first.refresh_token));
    for (const replica of replicas) {
      access.push(await orders(replica, second.access_token));
      refreshes.push(await refresh(replica, second.refresh_token));
    }
  });
  return { races, before: before.flat(), replays, access, refreshes };
}

/** Calls `ask` for all races, sixteen at a time. */
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
