import { type PostgresServer, startPostgres } from "@svc/dev-services";
import { setTimeout as delay } from "node:timers/promises";
import { keepAliveAgent, send, tally, type Outcome } from "./harness/client.ts";
import { asBuilt, type Experiment, type Run } from "./harness/experiment.ts";
import type { Report } from "./harness/report.ts";
import { startService, type ServiceProcess } from "./harness/service-process.ts";
import { together } from "./harness/together.ts";
import { startStallMonitor, type StallMonitor } from "./harness/stall-monitor.ts";
import type { RecordsSettings } from "./services/records.ts";

const workers = 16;
/** Deadline in seconds for obtaining a connection, and again for executing a statement. */
const deadlineSeconds = 0.4;
const deadlineMs = deadlineSeconds * 1000;
/**
 * Milliseconds allowed beyond the deadlines, because a frozen server does not even process the cancellation of a
 * statement.
 */
const graceMs = 500;
const healMs = 20_000;
/** Milliseconds for which `/ready` reuses a report, and the deadline of its checks. */
const reuseMs = 1000;
const checkMs = 2000;
/** Minimum number of `/ready` requests to send after the deadline for detecting the fault. */
const fewestReports = 2;
/** Maximum milliseconds by which a fault is extended, so that a busy machine can send enough requests. */
const feltMs = 20_000;
/**
 * The shorter and the longer pause of a worker between two requests, in milliseconds. A short run uses the shorter
 * pause only around the start of a fault.
 */
const pausesMs = { quick: [50, 250], full: [10, 10] } as const;
const hurriesBeforeMs = 300;
const hurriesAfterMs = 1000;

/** Freezes and then kills PostgreSQL under load, and lets it recover. */
export const databaseStall: Experiment = {
  name: "database-stall",
  description:
    "PostgreSQL frozen, then killed, under load: no request waits past its deadline, and the service recovers",
  brokenVariants: ["broken-pool-defaults"],
  async run(run, report) {
    await using postgres = await startPostgres({ purpose: "test" });
    const poolDefaults = run.variant !== asBuilt;
    const settings: RecordsSettings = { url: postgres.url, deadlineSeconds, poolDefaults };
    const [one, other] = await together([startService("records.ts", settings), startStallMonitor()]);
    await using service = one;
    await using stallMonitor = other;
    const scene: Scene = { postgres, service, stallMonitor, run, report };
    const faultMs = run.quick ? 3200 : 8000;
    await oneFault("frozen", faultMs, scene, {
      begin: () => postgres.pause(),
      end: () => postgres.resume(),
    });
    // Stop when the service has exited, or when the variant has broken the only rule that a short run expects it to
    // break.
    if (service.exit !== undefined || (run.quick && poolDefaults)) return;
    await oneFault("killed", run.quick ? 1000 : faultMs, scene, {
      begin: () => postgres.kill(),
      end: () => postgres.restart(),
    });
  },
};

interface Scene {
  readonly postgres: PostgresServer;
  readonly service: ServiceProcess;
  readonly stallMonitor: StallMonitor;
  readonly run: Run;
  readonly report: Report;
}

interface Fault {
  begin(): void | Promise<void>;
  end(): void | Promise<void>;
}

interface Timed extends Outcome {
  readonly startedAt: number;
  readonly endedAt: number;
}

async function oneFault(name: string, faultMs: number, scene: Scene, fault: Fault): Promise<void> {
  const { service, stallMonitor, report, run } = scene;
  const load = new AbortController();
  const rows: Timed[] = [];
  const health: Timed[] = [];
  const ready: Timed[] = [];
  const agent = keepAliveAgent(workers + 2);
  const [shortMs, longMs] = pausesMs[run.quick ? "quick" : "full"];
  let rowPauseMs: number = longMs;
  const ask = async (path: string, outcomes: Timed[], pauseMs: () => number): Promise<void> => {
    while (!load.signal.aborted && service.exit === undefined) {
      const startedAt = performance.now();
      const outcome = await send(service.port, path, { agent });
      outcomes.push({ ...outcome, startedAt, endedAt: performance.now() });
      await delay(pauseMs());
    }
  };
  const asking = [
    ...Array.from({ length: workers }, () => ask("/row", rows, () => rowPauseMs)),
    ask("/health", health, () => 50),
    ask("/ready", ready, () => 100),
  ];
  // On a busy machine the first connections miss these short deadlines: wait for half a second without an error.
  const loadedAt = performance.now();
  const isCalm = await isHealed(rows, ready, loadedAt, service);
  rowPauseMs = shortMs;
  await delay(hurriesBeforeMs);
  const before = rows.filter((each) => each.endedAt > performance.now() - 500).length;
  const begunAt = performance.now();
  await fault.begin();
  // A connection check that began before the fault may succeed until its deadline, and `/ready` reuses its result.
  const knownAt = performance.now() + deadlineMs + reuseMs;
  setTimeout(() => (rowPauseMs = longMs), hurriesAfterMs).unref();
  const roomMs = run.quick ? 1500 : 300;
  const limitMs = 2 * deadlineMs + graceMs + roomMs;
  // Subtract only the stalls that the stall monitor observed, because the tested code cannot cause them.
  const waited = ({ ms, startedAt, endedAt }: Timed): number => ms - stallMonitor.between(startedAt, endedAt);
  const reports = (until: number): readonly Timed[] =>
    ready.filter((each) => each.startedAt > knownAt && each.endedAt < until);
  const isFelt = (): boolean => {
    const now = performance.now();
    const lastedMs = now - begunAt - stallMonitor.between(begunAt, now);
    // By then a request that has waited since the start of the fault has exceeded its limit.
    if (run.variant !== asBuilt) return lastedMs > 1.5 * limitMs;
    return lastedMs > faultMs && reports(now).length >= fewestReports;
  };
  for (const until = begunAt + faultMs + feltMs; !isFelt() && performance.now() < until;) await delay(50);
  const known = reports(performance.now());
  await fault.end();
  const endedAt = performance.now();
  const healed = await isHealed(rows, ready, endedAt, service);
  load.abort();
  await Promise.all(asking);
  agent.destroy();

  const during = rows.filter((each) => each.endedAt >= begunAt);
  const refused = during.filter((each) => each.status !== 200);
  const longest = Math.max(...during.map(waited));
  const early = rows.filter((each) => each.endedAt < begunAt && each.status !== 200);
  const faults = [...early, ...refused].map(refusalFault).filter((each) => each !== undefined);
  const lastRefusal = Math.max(endedAt, ...refused.map((each) => each.endedAt));
  const named = known.filter((each) => each.status === 503 && isNamed(each.body));
  const longestReport = Math.max(...ready.map(waited));
  const longestHealth = Math.max(...health.map(waited));
  report.figure(name, "requests before", before, "count");
  report.figure(name, "requests during and after", during.length, "count");
  report.figure(name, "answered with 503", refused.filter((each) => each.status === 503).length, "count");
  report.figure(name, "longest wait", longest, "ms");
  report.figure(name, "last refusal after the end of the fault", lastRefusal - endedAt, "ms");
  report.figure(name, "/ready 503 that names the database", named.length, "count");
  report.figure(name, "/health requests", health.length, "count");
  report.figure(name, "/health longest", longestHealth, "ms");
  report.figure(name, "/ready longest", longestReport, "ms");
  report.figure(name, "answered with 503 before", early.length, "count");
  // After a missed deadline the breaker refuses other requests, so at least one of the early refusals must be a missed
  // deadline.
  const isMissed = early.length === 0 || early.some((each) => each.ms > 0.9 * deadlineMs);
  report.rule(
    before > 0 && isCalm && isMissed,
    `${name}: no refusals before the fault, except after missed deadlines`,
  );
  report.rule(longest <= limitMs, `${name}: no request waits longer than ${limitMs} ms`);
  report.rule(refused.length > 0, `${name}: requests fail during the fault`);
  report.rule(
    faults.length === 0,
    `${name}: every refusal is a 503 problem with Retry-After (${tally(faults)})`,
  );
  report.rule(
    known.length >= fewestReports && named.length === known.length,
    `${name}: /ready returns 503 and names the database (${named.length} of ${known.length})`,
  );
  report.rule(
    longestReport <= checkMs + roomMs,
    `${name}: no report of /ready takes longer than ${checkMs + roomMs} ms`,
  );
  report.rule(
    health.every((each) => each.status === 200),
    `${name}: /health returns 200 all the time`,
  );
  report.rule(
    longestHealth <= graceMs + roomMs,
    `${name}: /health never takes longer than ${graceMs + roomMs} ms`,
  );
  report.rule(service.exit === undefined, `${name}: the process survives (${service.ending})`);
  report.rule(healed, `${name}: the service recovers without a restart`);
}

/** Waits until all requests within half a second succeed and `/ready` reports success; false after `healMs`. */
async function isHealed(
  rows: readonly Timed[],
  ready: readonly Timed[],
  from: number,
  service: ServiceProcess,
): Promise<boolean> {
  const until = from + healMs;
  while (performance.now() < until && service.exit === undefined) {
    const since = Math.max(from, performance.now() - 500);
    await delay(500);
    const recent = rows.filter((each) => each.endedAt > since);
    const isWell = recent.length >= workers && recent.every((each) => each.status === 200);
    if (isWell && ready.at(-1)?.status === 200) return true;
  }
  return false;
}

function refusalFault({ status, headers, error }: Outcome): string | undefined {
  if (status !== 503) return error ?? `status ${status}`;
  if (headers["content-type"] !== "application/problem+json") return "503 without a problem document";
  return Number(headers["retry-after"]) >= 1 ? undefined : "503 without Retry-After";
}

function isNamed(body: string): boolean {
  try {
    const { checks } = JSON.parse(body) as { checks?: { database?: { healthy?: boolean } } };
    return checks?.database?.healthy === false;
  } catch {
    return false;
  }
}
