import { createCache } from "@svc/cache";
import { type RedisServer, startRedis } from "@svc/dev-services";
import { setTimeout as delay } from "node:timers/promises";
import { keepAliveAgent, type Outcome, send } from "./harness/client.ts";
import { asBuilt, type Experiment, type Run } from "./harness/experiment.ts";
import type { Report } from "./harness/report.ts";
import { type ServiceProcess, startService } from "./harness/service-process.ts";
import { together } from "./harness/together.ts";
import { excessOf, type Numbers, shortageOf, type Span } from "./rate-limit-replicas/admissions.ts";
import { CONNECTIONS, cycleOf, load, probe } from "./rate-limit-replicas/load.ts";
import type { LimitedSettings } from "./services/limited.ts";

const REPLICAS = 2;
const KEYS = 20;
/** A short run has few keys, so that each gets many requests although the clients pause. */
const QUICK_KEYS = 6;
const QUICK_PAUSE_MS = 20;
const COMMAND_MS = 100;
const PATIENT_MS = 10_000;
const BREAKER_MS = 2000;
/** Milliseconds that a response may take beyond the time limit of the store. */
const ROOM_MS = 60;
/** Error of a measured wait, in milliseconds: the exempt request that is subtracted takes some time itself. */
const PROBE_MS = 20;

/** Lets two replicas count the requests of the same callers in one Redis, and freezes it. */
export const rateLimitReplicas: Experiment = {
  name: "rate-limit-replicas",
  description: "two replicas admit what one bucket allows, and admit everything while Redis is frozen",
  brokenVariants: ["broken-two-steps", "broken-fixed-window"],
  async run(run, report) {
    await using redis = await startRedis();
    const windowSeconds = run.quick ? 1 : 2;
    const settings = { redisUrl: redis.url, variant: run.variant, limit: 50, windowSeconds };
    // Use a long timeout, because on a busy machine no request may pass uncounted.
    await withReplicas({ ...settings, commandTimeoutMs: PATIENT_MS }, (replicas) =>
      countAdmissions(redis, replicas, windowSeconds, run, report),
    );
    if (run.variant !== asBuilt) return;
    await withReplicas({ ...settings, commandTimeoutMs: COMMAND_MS }, (replicas) =>
      freeze(redis, replicas, run, report),
    );
  },
};

async function withReplicas(
  settings: LimitedSettings,
  work: (replicas: readonly ServiceProcess[]) => Promise<void>,
): Promise<void> {
  const start = (): Promise<ServiceProcess> => startService("limited.ts", settings);
  const [one, two] = await together([start(), start()]);
  await using first = one;
  await using second = two;
  for (const replica of [first, second]) await isReady(replica);
  await work([first, second]);
}

async function countAdmissions(
  redis: RedisServer,
  replicas: readonly ServiceProcess[],
  windowSeconds: number,
  run: Run,
  report: Report,
): Promise<void> {
  const seconds = run.seconds ?? (run.quick ? 4 : 30);
  const keys = run.quick ? QUICK_KEYS : KEYS;
  const numbers: Numbers = { burst: 50, ratePerMs: 50 / windowSeconds / 1000 };
  const before = await scriptCalls(redis);
  const begunAt = performance.now();
  const opened = new Set<string>();
  const keyAt = (now: number, worker: number): string | undefined => {
    // Workers begin with different keys, so that the keys share the load.
    for (let turn = 0; turn < keys; turn++) {
      const key = (worker + turn + Math.floor(now)) % keys;
      const { number, phase } = cycleOf(now - begunAt, key, keys, windowSeconds * 1000);
      if (phase === "flood") return `key-${key}`;
      if (phase !== "open" || opened.has(`${key}/${number}`)) continue;
      opened.add(`${key}/${number}`);
      return `key-${key}`;
    }
    return undefined;
  };
  const asked = await load(
    replicas.map(({ port }) => port),
    begunAt + seconds * 1000,
    keyAt,
    pauseOf(run),
  );
  const charges = (await scriptCalls(redis)) - before;

  const byKey = Map.groupBy(asked, ({ key }) => key);
  const excess = Math.max(...[...byKey.values()].map((each) => excessOf(each, numbers)));
  const floods = Map.groupBy(asked, ({ key, sentAt }) => {
    const { number, phase } = cycleOf(sentAt - begunAt, Number(key.slice(4)), keys, windowSeconds * 1000);
    return phase === "flood" ? `${key}/${number}` : "other";
  });
  floods.delete("other");
  const shortage = Math.max(...[...floods.values()].map((each) => shortageOf(each, numbers)));
  const count = (status: number): number => asked.filter((each) => each.status === status).length;
  const name = `${keys} keys, ${REPLICAS} x ${CONNECTIONS} connections`;
  report.figure(name, "requests", asked.length, "");
  report.figure(name, "admitted", count(200), "");
  report.figure(name, "most above burst + rate x time", excess, "");
  report.figure(name, "most below rate x time in a flood", shortage, "");
  report.figure(name, "script calls of Redis", charges, "");
  report.rule(byKey.size === keys && count(429) > 0, "every key was used, and its limit was reached");
  report.rule(count(200) + count(429) === asked.length, "every response is 200 or 429");
  report.rule(excess <= 1, "no interval admits more than burst + rate x time, + 1");
  if (run.variant !== asBuilt) return;
  report.rule(shortage <= 1, "a flood gets all tokens that a bucket gains, - 1");
  report.rule(charges === asked.length, "each request is one call of the script");
}

async function freeze(
  redis: RedisServer,
  replicas: readonly ServiceProcess[],
  run: Run,
  report: Report,
): Promise<void> {
  const frozenMs = run.quick ? 2500 : 10_000;
  const isEnforced = await reachesLimit(replicas[0]?.port ?? 0);
  const begunAt = performance.now();
  const end = begunAt + 1000 + frozenMs + 1000;
  const ports = replicas.map(({ port }) => port);
  const loaded = load(ports, end, (_now, worker) => `frozen-${worker % KEYS}`, pauseOf(run));
  // A short run only prints the waits, for which fewer probes are enough.
  const probed = probe(ports, end, run.quick ? 50 : 2);
  await delay(1000);
  redis.pause();
  const pausedAt = performance.now();
  await delay(frozenMs);
  const resumedAt = performance.now();
  redis.resume();
  const [asked, probes] = await Promise.all([loaded, probed]);

  // Redis may have replied to a command just before the fault.
  const meanwhile = asked.filter(({ sentAt, answeredAt }) => sentAt > pausedAt && answeredAt < resumedAt);
  const answered = asked.filter(({ answeredAt }) => answeredAt > pausedAt && answeredAt < resumedAt);
  const waited = answered.map((each) => waitOf(each, probes));
  const slow = waited.filter((ms) => ms >= COMMAND_MS - PROBE_MS);
  const longest = waited.reduce((most, ms) => Math.max(most, ms), 0);
  // Count from the start of the replica: on a busy machine, a warning before the fault suppresses others for 10 s.
  const warnings = replicas.map(({ lines }) => lines.filter((line) => line.includes('"warn"')).length);
  const windows = Math.ceil(frozenMs / BREAKER_MS);
  // These are the requests in flight when the breaker opens, and one trial of each replica per window.
  const waits = REPLICAS * (CONNECTIONS + windows);
  const name = `frozen for ${frozenMs / 1000} s`;
  const refused = meanwhile.filter(({ status }) => status !== 200).length;
  report.figure(name, "requests", meanwhile.length, "");
  report.figure(name, "refused", refused, "");
  report.figure(name, "waited for the store", slow.length, "");
  report.figure(name, "longest wait", longest, "ms");
  report.figure(name, "warnings of one replica", Math.max(...warnings), "");
  report.rule(meanwhile.length > 100 && refused === 0, "no request is refused while Redis is frozen");
  report.rule(Math.min(...warnings) >= 1, "each replica warns");
  report.rule(Math.max(...warnings) <= 2, "each replica warns at most twice in 10 s");
  report.rule(isEnforced, "the limits are enforced before the fault");
  if (run.quick) return;
  report.rule(slow.length <= waits, `at most ${waits} requests wait for the store`);
  report.rule(longest <= COMMAND_MS + ROOM_MS, `no response takes longer than ${COMMAND_MS} ms more`);
}

function pauseOf({ quick }: Run): number {
  return quick ? QUICK_PAUSE_MS : 0;
}

/**
 * Returns how long a request waited for the store: its duration minus that of the slowest request for an exempt path to the
 * same replica at the same time, because a busy machine delays both.
 */
function waitOf({ replica, sentAt, answeredAt }: Span, probes: readonly Span[]): number {
  const ms = answeredAt - sentAt;
  if (ms < COMMAND_MS - PROBE_MS) return ms;
  const meanwhile = probes.filter(
    (each) => each.replica === replica && each.sentAt < answeredAt && each.answeredAt > sentAt,
  );
  return ms - meanwhile.reduce((most, each) => Math.max(most, each.answeredAt - each.sentAt), 0);
}

/** Returns whether one of many requests with one key is refused. */
async function reachesLimit(port: number): Promise<boolean> {
  const agent = keepAliveAgent(CONNECTIONS);
  const request = (): Promise<Outcome> => send(port, "/", { agent, headers: { "X-Key": "before" } });
  try {
    for (let tries = 0; tries < 20; tries++) {
      const answers = await Promise.all(Array.from({ length: 200 }, request));
      if (answers.some(({ status }) => status === 429)) return true;
    }
    return false;
  } finally {
    agent.destroy();
  }
}

async function isReady(replica: ServiceProcess): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    if (await replica.ask<boolean>("ready")) return;
    await delay(100);
  }
  throw new Error(`the store of a replica does not answer; ${replica.ending}`);
}

/** Returns how many scripts Redis has run. */
async function scriptCalls(redis: RedisServer): Promise<number> {
  await using cache = createCache({ url: redis.url });
  const info = String(await cache.redis.call("info", "commandstats"));
  const calls = [...info.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm)];
  return calls.reduce((sum, [, count]) => sum + Number(count), 0);
}
