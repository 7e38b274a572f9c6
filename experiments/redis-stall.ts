import { type RedisServer, startRedis } from "@svc/dev-services";
import { setTimeout as delay } from "node:timers/promises";
import { asBuilt, type Experiment, type Run } from "./harness/experiment.ts";
import type { Report } from "./harness/report.ts";
import { createStalledService, type StalledService } from "./harness/stalled-service.ts";
import {
  isAskedMeanwhile,
  judgeAdmission,
  judgeReadiness,
  judgeSignOut,
  judgeWarnings,
  type Stall,
} from "./harness/stall-rules.ts";
import { together } from "./harness/together.ts";
import { startStallMonitor, type Stalls } from "./harness/stall-monitor.ts";

/** The window in milliseconds of the cache's circuit breaker, and of the revocation check's. */
const windowMs = 2000;
const healMs = 20_000;
const commandMs = 1000;
/** In a short run, clients send at the fast rate only around the start of a fault. */
const hurriesBeforeMs = 300;
const hurriesAfterMs = 1000;

/** One fault of Redis and its duration. */
export interface Fault {
  readonly name: string;
  readonly ms: number;
  /** Whether Redis loses its data. */
  readonly forgets: boolean;
  /** Milliseconds until a command detects the fault; 0 when commands fail immediately because there is no connection. */
  readonly knownMs: number;
  begin(): void | Promise<void>;
  end(): void | Promise<void>;
}

/** Freezes and then kills Redis under load, and lets it recover. */
export const redisStall: Experiment = {
  name: "redis-stall",
  description:
    "Redis frozen, then killed, under load: one short wait per window, few warnings, and the service recovers",
  brokenVariants: ["broken-no-breaker", "broken-no-deadline"],
  async run(run, report) {
    await using redis = await startRedis();
    const pausesMs = run.quick ? ([50, 250] as const) : ([50, 50] as const);
    const start = (name: string, failOpen: boolean, inFlight: number): Promise<StalledService> =>
      createStalledService({ name, failOpen, inFlight, redisUrl: redis.url, variant: run.variant, pausesMs });
    const broken = run.variant !== asBuilt;
    const [one, two, three, four, five] = await together([
      broken && run.quick ? undefined : start("fail-open, 32 in flight", true, 32),
      start("fail-open, one at a time", true, 1),
      broken ? undefined : start("fail-closed, 32 in flight", false, 32),
      broken ? undefined : start("fail-closed, one at a time", false, 1),
      startStallMonitor(),
    ]);
    await using first = one;
    await using second = two;
    await using third = three;
    await using fourth = four;
    await using stallMonitor = five;
    const services = [first, second, third, fourth].filter((each) => each !== undefined);
    for (const fault of faultsOf(redis, run)) await oneFault(fault, services, stallMonitor, run, report);
    if (broken) return;
    for (const service of services) judgeWarnings(service.name, service.lines, report);
  },
};

function faultsOf(redis: RedisServer, { quick, variant, seconds }: Run): readonly Fault[] {
  const frozenMs = seconds === undefined ? (quick ? 4200 : 22_000) : seconds * 1000;
  const frozen: Fault = {
    name: "frozen",
    ms: frozenMs,
    forgets: false,
    knownMs: commandMs,
    begin: () => redis.pause(),
    end: () => redis.resume(),
  };
  // A variant needs to break only one rule, and the frozen server is enough to show the fault of each.
  if (variant !== asBuilt) return [frozen];
  const killed: Fault = {
    name: "killed",
    ms: quick ? 1500 : 8000,
    forgets: true,
    knownMs: 0,
    begin: () => redis.kill(),
    end: () => redis.restart(),
  };
  return [frozen, killed];
}

async function oneFault(
  fault: Fault,
  services: readonly StalledService[],
  stalls: Stalls,
  run: Run,
  report: Report,
): Promise<void> {
  await Promise.all(services.map((each) => each.begin()));
  const healthyAt = await healthySince(services);
  for (const service of services) service.hurry(true);
  await delay(hurriesBeforeMs);
  const begunAt = performance.now();
  await fault.begin();
  setTimeout(() => services.forEach((each) => each.hurry(false)), hurriesAfterMs).unref();
  const isAsked = (): boolean => {
    const endingAt = performance.now();
    // Stalls of the machine do not count towards the duration of the fault.
    if (endingAt - begunAt - stalls.between(begunAt, endingAt) < fault.ms) return false;
    const meanwhile = { begunAt, endingAt, stalls, knownMs: fault.knownMs };
    return run.variant !== asBuilt || services.every(({ seen }) => isAskedMeanwhile(seen, meanwhile));
  };
  await until(isAsked, fault.ms + healMs);
  const endingAt = performance.now();
  await fault.end();
  const endedAt = performance.now();
  const healed = await Promise.all(services.map((each) => each.isHealed(endedAt, healMs, fault.forgets)));
  for (const [n, service] of services.entries()) {
    const seen = await service.end();
    const healMsOf = healed[n] ?? Number.POSITIVE_INFINITY;
    const stall: Stall = {
      healthyAt,
      begunAt,
      endingAt,
      endedAt,
      healedAt: endedAt + healMsOf,
      forgets: fault.forgets,
      knownMs: fault.knownMs,
      commandMs,
      windowMs,
      roomMs: run.quick ? 1000 : 100,
      stalls,
    };
    const name = `${fault.name}, ${service.name}`;
    judgeAdmission(name, seen, stall, report);
    if (run.variant !== asBuilt) continue;
    judgeSignOut(name, seen, stall, report);
    judgeReadiness(name, seen, stall, report);
    // A service that fails open accepts requests during the fault too, so its recovery time is unknown if there are only
    // such requests.
    if (seen.ready.length > 0 || !seen.failOpen) report.figure(name, "healed after", healMsOf, "ms");
    report.rule(healed[n] !== undefined, `${name}: the service recovers without a restart`);
  }
}

/** Waits until all requests of all services have succeeded for 0.7 s; returns when that period began. */
async function healthySince(services: readonly StalledService[]): Promise<number> {
  const from = performance.now();
  for (;;) {
    await delay(50);
    const now = performance.now();
    const since = now - 700;
    const isHealthyTime = since > from && services.every((each) => each.isWell(since, false));
    if (isHealthyTime || now > from + healMs) return since;
  }
}

async function until(held: () => boolean, ms: number): Promise<void> {
  for (const from = performance.now(); !held() && performance.now() < from + ms;) await delay(50);
}
