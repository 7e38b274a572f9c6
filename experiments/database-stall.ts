import { type PostgresServer, startPostgres } from "@svc/dev-services";
import { setTimeout as delay } from "node:timers/promises";
import { keepAliveAgent, send, tally, type Outcome } from "./harness/client.ts";
import { asBuilt, type Experiment, type Run } from "./harness/experiment.ts";
import { watchHeldUp } from "./harness/held-up.ts";
import type { Report } from "./harness/report.ts";
import { type Span, waitedOf } from "./harness/stall-rules.ts";
import { startService, type ServiceProcess } from "./harness/service-process.ts";
import type { RecordsSettings } from "./services/records.ts";

const workers = 16;
/** For a connection, and again for a statement. */
const deadlineSeconds = 0.4;
/** What a server that does not even end a statement is given beyond it. */
const graceMs = 500;
const healMs = 20_000;
/** What a fault is given to be felt, when the machine is too busy to ask meanwhile. */
const feltMs = 20_000;

/** Freezes PostgreSQL under load, and kills it, and lets it come back. */
export const databaseStall: Experiment = {
  name: "database-stall",
  description:
    "PostgreSQL frozen, then killed, under load: no request waits past its deadline, and all heals",
  brokenVariants: ["broken-pool-defaults"],
  async run(run, report) {
    await using postgres = await startPostgres({ purpose: "test" });
    const poolDefaults = run.variant !== asBuilt;
    const settings: RecordsSettings = { url: postgres.url, deadlineSeconds, poolDefaults };
    await using service = await startService("records.ts", settings);
    const faultMs = run.quick ? 3200 : 8000;
    await oneFault(
      "frozen",
      faultMs,
      { postgres, service, run, report },
      {
        begin: () => postgres.pause(),
        end: () => postgres.resume(),
      },
    );
    // Nothing more can be learned from a process that is gone; and in a short run one broken rule is enough.
    if (service.exit !== undefined || (run.quick && poolDefaults)) return;
    await oneFault(
      "killed",
      run.quick ? 1000 : faultMs,
      { postgres, service, run, report },
      {
        begin: () => postgres.kill(),
        end: () => postgres.restart(),
      },
    );
  },
};

interface Scene {
  readonly postgres: PostgresServer;
  readonly service: ServiceProcess;
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
  const { service, report, run } = scene;
  using heldUp = watchHeldUp();
  const load = new AbortController();
  const rows: Timed[] = [];
  const health: Timed[] = [];
  const ready: Timed[] = [];
  const agent = keepAliveAgent(workers + 2);
  const ask = async (path: string, outcomes: Timed[], pauseMs: number): Promise<void> => {
    while (!load.signal.aborted && service.exit === undefined) {
      const startedAt = performance.now();
      const outcome = await send(service.port, path, { agent });
      outcomes.push({ ...outcome, startedAt, endedAt: performance.now() });
      await delay(pauseMs);
    }
  };
  const asking = [
    ...Array.from({ length: workers }, () => ask("/row", rows, run.quick ? 250 : 10)),
    ask("/health", health, 50),
    ask("/ready", ready, 100),
  ];
  // Deadlines are so short that the first connections of a busy machine miss them: the fault waits for half a second without.
  const loadedAt = performance.now();
  const isCalm = await isHealed(rows, ready, loadedAt, service);
  const before = rows.filter((each) => each.endedAt > performance.now() - 500).length;
  const begunAt = performance.now();
  await fault.begin();
  await delay(faultMs);
  const limitMs = 2 * deadlineSeconds * 1000 + graceMs + (run.quick ? 1500 : 300);
  const waited = (each: Span): number => waitedOf(each, health, heldUp);
  const isFelt = (): boolean => {
    const now = performance.now();
    // Who has waited since then has waited too long, whatever the machine took of it.
    if (run.variant !== asBuilt)
      return waited({ ms: now - begunAt, startedAt: begunAt, endedAt: now }) > 1.5 * limitMs;
    const isNew = (each: Timed): boolean => each.startedAt > begunAt;
    return (
      rows.some((each) => isNew(each) && each.status !== 200) &&
      ready.some((each) => isNew(each) && each.status === 503 && isNamed(each.body))
    );
  };
  for (const from = performance.now(); !isFelt() && performance.now() < from + feltMs;) await delay(50);
  await fault.end();
  const endedAt = performance.now();
  const healed = await isHealed(rows, ready, endedAt, service);
  load.abort();
  await Promise.all(asking);
  agent.destroy();

  const during = rows.filter((each) => each.endedAt >= begunAt);
  const refused = during.filter((each) => each.status !== 200);
  const longest = Math.max(...during.map(waited));
  const faults = refused.map(refusalFault).filter((each) => each !== undefined);
  const lastRefusal = Math.max(endedAt, ...refused.map((each) => each.endedAt));
  const statuses = ready.filter((each) => each.endedAt > begunAt && each.endedAt < endedAt);
  const named = statuses.filter((each) => each.status === 503 && isNamed(each.body));
  report.figure(name, "requests before", before, "count");
  report.figure(name, "requests during and after", during.length, "count");
  report.figure(name, "answered with 503", refused.filter((each) => each.status === 503).length, "count");
  report.figure(name, "longest wait", longest, "ms");
  report.figure(name, "last refusal after the end of the fault", lastRefusal - endedAt, "ms");
  report.figure(name, "/ready 503 that names it", named.length, "count");
  report.figure(name, "/health asked", health.length, "count");
  report.figure(name, "/health longest", Math.max(...health.map((each) => each.ms)), "ms");
  report.rule(before > 0 && isCalm, `${name}: all is well before`);
  report.rule(longest <= limitMs, `${name}: no request waits longer than ${limitMs} ms`);
  report.rule(refused.length > 0, `${name}: the fault is felt`);
  report.rule(
    faults.length === 0,
    `${name}: every refusal is a 503 problem with Retry-After (${tally(faults)})`,
  );
  report.rule(named.length > 0, `${name}: /ready answers 503 and names the database`);
  report.rule(
    health.every((each) => each.status === 200),
    `${name}: /health answers 200 all the time`,
  );
  report.rule(service.exit === undefined, `${name}: the process lives`);
  report.rule(healed, `${name}: it heals by itself`);
}

/** Waits until half a second has passed without a refusal, and `/ready` says so too. */
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
  if (headers["content-type"] !== "application/problem+json") return "503 that is no problem";
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
