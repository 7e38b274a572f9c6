import { openTestDatabase } from "@svc/dev-services";
import { createJobTable, createWorker } from "@svc/job-table";
import { setTimeout as delay } from "node:timers/promises";
import { Client, Pool } from "pg";
import { asBuilt, type Experiment, type Run } from "./harness/experiment.ts";
import { type JobBench, openJobBench } from "./harness/job-bench.ts";
import type { Report } from "./harness/report.ts";
import { startService } from "./harness/service-process.ts";
import type { HolderSettings } from "./services/job-holder.ts";

const visibilitySeconds = 4;
const concurrency = 4;
const workers = 2;
const flow = { jobs: 5, everyMs: 20 };

interface Scene {
  readonly name: string;
  /** Whether newer jobs are enqueued during the recovery, 250 a second. */
  readonly flows: boolean;
  /** Whether the workers start after the leases have expired. */
  readonly startsLater?: boolean;
  /** Whether a session holds an old snapshot, which keeps the dead rows of finished jobs in the table. */
  readonly isSnapshotHeld?: boolean;
}

const scenes: readonly Scene[] = [
  { name: "idle workers", flows: false },
  { name: "while newer jobs arrive", flows: true },
  { name: "workers start later", flows: true, startsLater: true },
  { name: "old snapshot", flows: true, isSnapshotHeld: true },
];

/** Kills a worker process that holds leases, and measures how soon other workers start its jobs. */
export const leaseRecovery: Experiment = {
  name: "lease-recovery",
  description: "leases of a killed worker are recovered within 2 s, before newer jobs",
  brokenVariants: ["broken-one-sweep"],
  async run(run, report) {
    const leases = Math.min(run.cases ?? (run.quick ? 300 : 1000), 1000);
    await using database = await openTestDatabase({ name: "lease-recovery" });
    for (const [n, scene] of scenes.entries()) {
      // In the other scenes the variant behaves like the product.
      if (run.variant !== asBuilt && n !== 1) continue;
      await using bench = await openJobBench(database.url, visibilitySeconds, `recovery_${n}`);
      await play(scene, leases, { url: database.url, bench, run, report });
    }
  },
};

interface Surroundings {
  readonly url: string;
  readonly bench: JobBench;
  readonly run: Run;
  readonly report: Report;
}

async function play(scene: Scene, leases: number, around: Surroundings): Promise<void> {
  const { url, bench, run } = around;
  await using stack = new AsyncDisposableStack();
  if (scene.isSnapshotHeld === true) {
    const jobs = run.quick ? 2000 : 20_000;
    stack.use(await keepFinishedJobs(url, bench, jobs));
  }
  const lost = await loseLeases(leases, url, bench);
  const seen = new Observed(lost);
  const over = new AbortController();
  stack.defer(() => over.abort());
  const endsAt = performance.now() + (await millisecondsToEnd(bench));
  if (scene.startsLater === true) await delay(Math.max(0, endsAt - performance.now()) + 50);
  const startedAt = performance.now();
  for (let n = 0; n < workers; n++) stack.use(startWorker(url, bench.table.name, run.variant, seen));
  const flowing = scene.flows ? queueNewerJobs(bench, over.signal) : undefined;
  // The milliseconds within which all jobs must start again. Do not wait longer for a variant, which would take minutes.
  const limits = run.quick ? { recoveryMs: 10_000, orderMs: 5000 } : { recoveryMs: 2000, orderMs: 1000 };
  const readyAt = Math.max(endsAt, startedAt);
  while (seen.lostStarts.size < leases && performance.now() < readyAt + limits.recoveryMs + 1000)
    await delay(20);
  const judgedAt = performance.now();
  over.abort();
  await flowing;
  judge(scene, { readyAt, judgedAt, leases, ...limits }, seen, around.report);
}

/** Records when this process's workers start handlers. */
class Observed {
  readonly lostStarts = new Map<string, number>();
  readonly newerStarts: number[] = [];
  readonly attempts: number[] = [];
  readonly #lost: ReadonlySet<string>;

  constructor(lost: ReadonlySet<string>) {
    this.#lost = lost;
  }

  start(id: string, attempts: number): void {
    if (!this.#lost.has(id)) this.newerStarts.push(performance.now());
    else {
      this.attempts.push(attempts);
      if (!this.lostStarts.has(id)) this.lostStarts.set(id, performance.now());
    }
  }
}

/** Lets a worker process claim `count` jobs, and kills it. Returns the ids of the jobs. */
async function loseLeases(count: number, url: string, { table }: JobBench): Promise<ReadonlySet<string>> {
  const ids = Array.from({ length: count }, (_, n) => `lost-${n}`);
  await table.enqueueMany(ids.map((id) => ({ id, task: "work" })));
  await using holder = await startService("job-holder.ts", {
    url,
    name: table.name,
    visibilitySeconds,
    jobs: count,
  } satisfies HolderSettings);
  for (let waited = 0; (await table.stats()).running < count; waited += 10) {
    if (waited > 30_000) throw new Error("the worker has not claimed all jobs");
    await delay(10);
  }
  holder.signal("SIGKILL");
  await holder.exited;
  return new Set(ids);
}

async function millisecondsToEnd({ pool, table }: JobBench): Promise<number> {
  const { rows } = await pool.query<{ ms: number }>(
    `select date_part('epoch', max(locked_until) - clock_timestamp()) * 1000 as ms from ${table.name}`,
  );
  return rows[0]?.ms ?? 0;
}

/** Runs and deletes jobs with expired leases while another session holds a snapshot open. */
async function keepFinishedJobs(
  url: string,
  { pool, table }: JobBench,
  jobs: number,
): Promise<AsyncDisposable> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query("begin isolation level repeatable read");
  await client.query(`select from ${table.name}`);
  await pool.query(
    `insert into ${table.name} (id, task, status, locked_until)
     select 'done-' || n, 'work', 'running', now() - n * interval '1 millisecond' from generate_series(1, $1::int) as n`,
    [jobs],
  );
  await pool.query(`delete from ${table.name}`);
  return { [Symbol.asyncDispose]: () => client.end() };
}

function startWorker(url: string, name: string, variant: string, seen: Observed): AsyncDisposable {
  const pool = new Pool({ connectionString: url, max: 4 });
  pool.on("error", () => undefined);
  const table = createJobTable({ db: pool, name });
  const stop = variant === asBuilt ? startBuilt(table, seen) : startSweepingOnce({ pool, table, seen, name });
  return {
    async [Symbol.asyncDispose]() {
      await stop();
      await pool.end();
    },
  };
}

type Table = ReturnType<typeof createJobTable>;

function startBuilt(table: Table, seen: Observed): () => Promise<void> {
  const worker = createWorker({
    table,
    concurrency,
    handlers: { work: (_payload, { id, attempts }) => seen.start(id, attempts) },
  });
  worker.start();
  return () => worker.stop();
}

interface Broken {
  readonly pool: Pool;
  readonly table: Table;
  readonly seen: Observed;
  readonly name: string;
}

/** Claims expired leases only once a second, and only into free slots; otherwise claims only pending jobs. */
function startSweepingOnce({ pool, table, seen, name }: Broken): () => Promise<void> {
  let isOver = false;
  let sweptAt = -Infinity;
  const claimPending = async (): Promise<readonly { id: string; attempts: number }[]> => {
    const { rows } = await pool.query<{ id: string; attempts: number }>(
      `update ${name} set status = 'running', attempts = attempts + 1, locked_until = now() + interval '5 minutes'
       where id in (select id from ${name} where status = 'pending' and available_at <= now()
         order by available_at limit ${concurrency} for update skip locked)
       returning id, attempts`,
    );
    return rows;
  };
  const loop = async (): Promise<void> => {
    while (!isOver) {
      const sweeps = performance.now() - sweptAt >= 1000;
      if (sweeps) sweptAt = performance.now();
      const jobs = sweeps ? await table.claim(concurrency) : await claimPending();
      for (const { id, attempts } of jobs) seen.start(id, attempts);
      if (jobs.length === 0) await delay(50);
      else await pool.query(`delete from ${name} where id = any($1)`, [jobs.map(({ id }) => id)]);
    }
  };
  const looping = loop();
  return async () => {
    isOver = true;
    await looping;
  };
}

/** Enqueues newer jobs until the signal aborts. */
async function queueNewerJobs({ table }: JobBench, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    await table.enqueueMany(Array.from({ length: flow.jobs }, () => ({ task: "work" })));
    await delay(flow.everyMs);
  }
}

interface Judged {
  /** The time at which the leases had expired and the workers were running. */
  readonly readyAt: number;
  readonly judgedAt: number;
  readonly leases: number;
  readonly recoveryMs: number;
  readonly orderMs: number;
}

function judge({ name, flows }: Scene, judged: Judged, seen: Observed, report: Report): void {
  const { readyAt, judgedAt, leases, recoveryMs, orderMs } = judged;
  const isComplete = seen.lostStarts.size === leases;
  const last = isComplete ? Math.max(...seen.lostStarts.values()) : judgedAt;
  const recovered = last - readyAt;
  // Jobs queued later must not start first: measure how long before the last leased job the first of them started.
  const newer = seen.newerStarts.filter((at) => at >= readyAt && at < last);
  const overtaken = newer.length === 0 ? 0 : last - Math.min(...newer);
  report.figure(name, "leases", leases, "count");
  report.figure(name, "started again", seen.lostStarts.size, "count");
  report.figure(name, "recovered within", recovered, "ms");
  report.rule(
    isComplete && recovered <= recoveryMs,
    `${name}: all jobs start again within ${recoveryMs} ms (${seen.lostStarts.size} of ${leases} in ${recovered.toFixed(0)} ms)`,
  );
  const once = seen.attempts.length === seen.lostStarts.size && seen.attempts.every((each) => each === 2);
  report.rule(once, `${name}: each job starts once more, on its second attempt`);
  if (!flows) return;
  report.figure(name, "newer jobs meanwhile", newer.length, "count");
  report.figure(name, "newer job before an older one, most", overtaken, "ms");
  report.rule(
    overtaken <= orderMs,
    `${name}: no newer job starts more than ${orderMs} ms before an older one (${overtaken.toFixed(0)} ms)`,
  );
}
