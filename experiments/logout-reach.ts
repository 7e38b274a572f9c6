import { type Cache, createCache } from "@svc/cache";
import { startRedis } from "@svc/dev-services";
import { signToken } from "@svc/test-support";
import { randomUUID } from "node:crypto";
import { keepAliveAgent, type Outcome, tally } from "./harness/client.ts";
import { asBuilt, type Experiment, type Run } from "./harness/experiment.ts";
import { quantile, type Report } from "./harness/report.ts";
import { startService, type ServiceProcess } from "./harness/service-process.ts";
import {
  inWords,
  logout,
  orders,
  type Pair,
  refresh,
  type Sessions,
  signIn,
} from "./harness/session-client.ts";
import { together } from "./harness/together.ts";
import { createRetry, type Retry, startStallMonitor } from "./harness/stall-monitor.ts";
import type { SessionsSettings } from "./services/sessions.ts";

const workers = 16;
/** The number of sign-outs that are repeated together after a stall of the machine. */
const batch = 100;
/** The number of requests per block in a short run, which does not check latencies. */
const quickRequests = 64;
const secret = "a secret of the tests, which has more than 32 bytes";

/**
 * Signs users out on one replica, sends requests with their tokens to another replica that has verified the tokens
 * before, and measures the cost of the revocation check.
 */
export const logoutReach: Experiment = {
  name: "logout-reach",
  description:
    "a sign-out on one replica ends the session on the other; the cost of the revocation check for a request",
  brokenVariants: ["broken-own-store", "broken-remembered"],
  async run(run, report) {
    await using redis = await startRedis();
    await using stallMonitor = await startStallMonitor();
    const retry = createRetry(stallMonitor);
    const setup: Setup = { redisUrl: redis.url, retry };
    await reach(setup, run, report);
    if (run.variant === asBuilt) await cost(setup, run, report);
    report.figure("all", "blocks repeated because the machine stalled", retry.discarded, "count");
  },
};

interface Setup {
  readonly redisUrl: string;
  readonly retry: Retry;
}

async function reach({ redisUrl, retry }: Setup, run: Run, report: Report): Promise<void> {
  const variant = run.variant === asBuilt ? {} : { variant: run.variant };
  // In a short run of a variant one process runs both replicas, which still share no state.
  const areTogether = run.quick && run.variant !== asBuilt;
  // Fail closed, so that a request is accepted only after the store has responded.
  const settings: SessionsSettings = { secret, redisUrl, isTwo: areTogether, failOpen: false, ...variant };
  const start = (): Promise<ServiceProcess> => startService("sessions.ts", settings);
  const [one, two] = await together([start(), areTogether ? undefined : start()]);
  await using first = one;
  await using second = two;
  const agent = keepAliveAgent(workers);
  const a: Sessions = { port: first.port, agent };
  const b: Sessions = { port: second?.port ?? (await first.ask<number>("other")), agent };
  const sessions = run.cases ?? (run.quick ? 60 : 1000);
  const answers: Answers[] = [];
  const [stays] = await signIn(a, 1);

  const signOut = async ({ access_token: token, refresh_token }: Pair, turn: number): Promise<Answers> => {
    const [here, there] = turn % 2 === 0 ? [a, b] : [b, a];
    const before: Outcome[] = [];
    // The second request to `there` reuses the cached verification, so that only revocation is checked.
    for (const replica of [there, there, here]) before.push(await orders(replica, token));
    return {
      before,
      logout: await logout(here, token),
      next: await orders(there, token),
      refresh: await refresh(there, refresh_token),
      staying: await orders(there, stays?.access_token ?? ""),
    };
  };
  const signOuts = async (count: number): Promise<readonly Answers[]> => {
    const found: Answers[] = [];
    const left = (await signIn(a, count)).entries();
    const work = async (): Promise<void> => {
      for (const [turn, pair] of left) found.push(await signOut(pair, turn));
    };
    await Promise.all(Array.from({ length: workers }, work));
    return found;
  };
  while (answers.length < sessions) {
    const count = Math.min(batch, sessions - answers.length);
    answers.push(
      ...(await retry(
        () => signOuts(count),
        (found) => found.some(hasUnavailable) && found.every(isRightOrUnavailable),
      )),
    );
  }
  agent.destroy();

  const before = answers.flatMap((each) => each.before).map(inWords);
  const logouts = answers.map((each) => inWords(each.logout));
  const next = answers.map((each) => inWords(each.next));
  const refreshes = answers.map((each) => inWords(each.refresh));
  const staying = answers.map((each) => inWords(each.staying));
  const refused = next.filter((each) => each.startsWith("401 ")).length;
  const noMore = refreshes.filter((each) => each === "401 this session has been revoked").length;
  report.figure("two replicas", "sessions", sessions, "count");
  report.figure("two replicas", "signed out", logouts.filter((each) => each === "204").length, "count");
  report.figure("two replicas", "next requests refused elsewhere", refused, "count");
  report.figure("two replicas", "refreshes refused elsewhere", noMore, "count");
  report.rule(isAll(before, "200"), `the tokens are accepted before the sign-outs (${tally(before)})`);
  report.rule(isAll(logouts, "204"), `every sign-out gets 204 (${tally(logouts)})`);
  report.rule(refused === sessions, `the next request on the other replica is refused (${tally(next)})`);
  report.rule(noMore === sessions, `the next refresh on the other replica is refused (${tally(refreshes)})`);
  report.rule(isAll(staying, "200"), `users who have not signed out stay signed in (${tally(staying)})`);
}

/** The responses before, at and after a sign-out. */
interface Answers {
  readonly before: readonly Outcome[];
  readonly logout: Outcome;
  /** The next request on the other replica, followed by a refresh there. */
  readonly next: Outcome;
  readonly refresh: Outcome;
  /** The response to a request of a user who has not signed out. */
  readonly staying: Outcome;
}

function isUnavailable({ status }: Outcome): boolean {
  return status === 503;
}

function hasUnavailable(answers: Answers): boolean {
  return [...answers.before, answers.logout, answers.next, answers.refresh, answers.staying].some(
    isUnavailable,
  );
}

/**
 * Returns whether every response is correct, or is a 503 that a stall may have caused. An accepted request after a
 * successful sign-out, or a refused one before it, is always a fault.
 */
function isRightOrUnavailable({ before, logout, next, refresh, staying }: Answers): boolean {
  const is = (status: number) => (outcome: Outcome) => outcome.status === status || isUnavailable(outcome);
  if (![...before, staying].every(is(200))) return false;
  // A sign-out with the response 503 may have taken effect or not.
  if (isUnavailable(logout)) return true;
  return logout.status === 204 && [next, refresh].every(is(401));
}

/**
 * A service with or without the revocation check, and its measurements. The two services without it are identical:
 * their difference is the noise.
 */
interface Measured {
  readonly name: string;
  readonly service: ServiceProcess;
  readonly latencies: number[];
  readonly cpu: number[];
}

async function cost({ redisUrl, retry }: Setup, run: Run, report: Report): Promise<void> {
  const plain: SessionsSettings = { secret, issues: false };
  const [checked, unchecked, same] = await together([
    // Fail closed, because a check that is skipped during an outage would seem cheap.
    startService("sessions.ts", { ...plain, redisUrl, failOpen: false } satisfies SessionsSettings),
    startService("sessions.ts", plain),
    // A short run does not check latencies and needs no control.
    run.quick ? undefined : startService("sessions.ts", plain),
  ]);
  await using withCheck = checked;
  await using without = unchecked;
  await using control = same;
  // This cache only counts the checks, so its deadline is long.
  await using cache = createCache({ url: redisUrl, commandTimeoutMs: 30_000 });
  const tokens = Array.from({ length: 1000 }, () => {
    const names = { sub: randomUUID(), jti: randomUUID(), fam: randomUUID() };
    return signToken({ ...names, aud: "sessions", typ: "access", scope: "orders:read" }, secret);
  });
  for (const [inFlight, name] of [
    [32, "32 in flight"],
    [1, "one at a time"],
  ] as const) {
    const all = Object.entries({
      "with the check": withCheck,
      without: without,
      ...(control === undefined ? {} : { "without, again": control }),
    }).map(([each, service]): Measured => ({ name: each, service, latencies: [], cpu: [] }));
    const agent = keepAliveAgent(inFlight);
    const blocks = run.runs ?? (run.quick ? 2 : 40);
    const strange: string[] = [];
    const lookupsBefore = await lookups(cache);
    let checkedRequests = 0;
    for (let block = -1; block < blocks; block++) {
      // Rotate the order, so that each service comes first equally often.
      const order = all.map((_, n) => all[(n + block + 1) % all.length]).filter((each) => each !== undefined);
      for (const each of order) {
        const most = run.quick ? quickRequests : Number.POSITIVE_INFINITY;
        const { outcomes, cpu } = await retry(
          () => load(each.service, { inFlight, ms: 250, most, tokens, agent }),
          // The service fails closed: a command that misses its deadline causes a 503.
          (found) =>
            found.outcomes.some(isUnavailable) &&
            found.outcomes.every((each) => each.status === 200 || isUnavailable(each)),
        );
        if (each.service === withCheck) checkedRequests += outcomes.length;
        strange.push(...outcomes.map(inWords).filter((words) => words !== "200"));
        // The first block is the warm-up.
        if (block < 0) continue;
        each.latencies.push(
          quantile(
            outcomes.map((outcome) => outcome.ms),
            0.5,
          ) * 1000,
        );
        each.cpu.push(cpu / outcomes.length);
      }
    }
    agent.destroy();
    reportCost(name, all, report);
    const looked = (await lookups(cache)) - lookupsBefore;
    report.figure(name, "requests with the check", checkedRequests, "count");
    report.figure(name, "checks in Redis", looked, "count");
    report.rule(looked >= checkedRequests, `${name}: Redis is queried for every request`);
    report.rule(strange.length === 0, `${name}: every request gets 200 (${tally(strange)})`);
  }
}

/** Returns how often Redis has run MGET, the command of the revocation check. */
async function lookups(cache: Cache): Promise<number> {
  const stats = String(await cache.redis.call("info", "commandstats"));
  return Number(/^cmdstat_mget:calls=(\d+)/m.exec(stats)?.[1] ?? 0);
}

interface Load {
  readonly inFlight: number;
  /** Milliseconds after which the load ends; it also ends after `most` requests. */
  readonly ms: number;
  readonly most: number;
  readonly tokens: readonly string[];
  readonly agent: Sessions["agent"];
}

async function load(
  service: ServiceProcess,
  { inFlight, ms, most, tokens, agent }: Load,
): Promise<{ readonly outcomes: readonly Outcome[]; readonly cpu: number }> {
  const outcomes: Outcome[] = [];
  const before = await service.ask<NodeJS.CpuUsage>("cpu");
  const until = performance.now() + ms;
  let sent = 0;
  const work = async (): Promise<void> => {
    while (performance.now() < until && sent < most) {
      const token = tokens[sent++ % tokens.length] ?? "";
      outcomes.push(await orders({ port: service.port, agent }, token));
    }
  };
  await Promise.all(Array.from({ length: inFlight }, work));
  const after = await service.ask<NodeJS.CpuUsage>("cpu");
  return { outcomes, cpu: after.user + after.system - before.user - before.system };
}

function reportCost(name: string, all: readonly Measured[], report: Report): void {
  for (const each of all) {
    report.figure(name, `latency ${each.name}`, quantile(each.latencies, 0.5), "us");
    report.figure(name, `CPU ${each.name}`, quantile(each.cpu, 0.5), "us");
  }
  const [checked, without, control] = all;
  if (checked === undefined || without === undefined) return;
  for (const what of ["latency", "CPU"] as const) {
    const of = what === "latency" ? "latencies" : "cpu";
    report.figure(name, `${what} of the check`, differenceOf(checked[of], without[of]), "us");
    if (control === undefined) continue;
    report.figure(name, `${what} without a difference`, differenceOf(control[of], without[of]), "us");
  }
}

/** Returns the median of the pairwise differences: both blocks of a pair ran under the same load of the machine. */
function differenceOf(these: readonly number[], those: readonly number[]): number {
  return quantile(
    these.map((each, n) => each - (those[n] ?? Number.NaN)),
    0.5,
  );
}

function isAll(found: readonly string[], wanted: string): boolean {
  return found.length > 0 && found.every((each) => each === wanted);
}
