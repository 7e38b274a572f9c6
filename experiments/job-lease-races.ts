import { openTestDatabase } from "@svc/dev-services";
import { createJobTable, type Job, type JobTable, type NewJob } from "@svc/job-table";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { asBuilt, type Experiment, type Run } from "./harness/experiment.ts";
import { type JobBench, openJobBench } from "./harness/job-bench.ts";
import { type Note, readNotes } from "./harness/job-notes.ts";
import { type LateOwner, lateOwners } from "./harness/late-owner.ts";
import type { Report } from "./harness/report.ts";
import { type ServiceProcess, startService } from "./harness/service-process.ts";
import { together } from "./harness/together.ts";
import type { LatePayload, LateSettings } from "./services/job-late.ts";

const visibilitySeconds = 1;
const overMs = 1200;
/** The lease of worker processes in seconds: on a busy machine their first claim takes a second. */
const frozenSeconds = 4;
/** The lease of the next owners in seconds: long enough not to expire during a race. */
const longSeconds = 3600;

/** Lets workers continue after their leases have expired, and runs jobs that kill every worker. */
export const jobLeaseRaces: Experiment = {
  name: "job-lease-races",
  description:
    "a worker whose lease expired cannot change the next owner's job; a job that kills its workers ends up dead",
  brokenVariants: ["broken-by-id", "broken-by-attempts", "broken-for-ever"],
  async run(run, report) {
    const { variant, quick } = run;
    const races = run.cases ?? (quick ? 100 : 1000);
    await using database = await openTestDatabase({ name: "lease-races" });
    const frozen = variant === asBuilt ? Math.floor(races / 5) : 0;
    const isLate = variant !== "broken-for-ever";
    const each = Math.max(3, Math.round((races - frozen) / (nextOwners.length + (frozen > 0 ? 1 : 0))));
    const scene = async (name: string, play: (scene: Scene) => Promise<void>): Promise<void> => {
      await using bench = await openJobBench(database.url, visibilitySeconds, name);
      const next = createJobTable({ db: bench.pool, name, visibilityTimeoutSeconds: longSeconds });
      await play({ bench, next, url: database.url, run, report });
    };
    // Run the scenarios concurrently: they mostly wait for leases to expire.
    await together([
      ...nextOwners.map((owner, n) =>
        isLate ? scene(`late_${n}`, (on) => byHand(owner, each, on)) : undefined,
      ),
      frozen > 0 ? scene("late_same", (on) => sameInstant(each, on)) : undefined,
      ...frozenWorkers.map((worker, n) =>
        frozen > 0
          ? scene(`late_frozen_${n}`, (on) =>
              frozenWorker(worker, Math.ceil(frozen / frozenWorkers.length), on),
            )
          : undefined,
      ),
      variant === asBuilt || !isLate ? scene("late_killers", killers) : undefined,
    ]);
  },
};

/** A separate job table, and a client of that table (`next`) whose leases do not expire. */
interface Scene {
  readonly bench: JobBench;
  readonly next: JobTable;
  readonly url: string;
  readonly run: Run;
  readonly report: Report;
}

/** The state to which a job is brought before its late owner ends it. */
interface NextOwner {
  readonly name: string;
  /** Brings jobs whose first lease has expired into this state through `next`; their rows do not change afterwards. */
  take(next: JobTable, jobs: readonly NewJob[]): Promise<void>;
}

const nextOwners: readonly NextOwner[] = [
  { name: "held by the next owner", take: async (next, jobs) => void (await claimAll(next, jobs)) },
  {
    name: "dead, retried, and held again",
    async take(next, jobs) {
      for (const job of await claimAll(next, jobs)) await next.fail(job, "no", { dead: true });
      await next.retryDead(jobs.map(({ id = "" }) => id));
      await claimAll(next, jobs);
    },
  },
  {
    name: "a new job under its id, held",
    async take(next, jobs) {
      for (const job of await claimAll(next, jobs)) await next.ack(job);
      await next.enqueueMany(jobs);
      await claimAll(next, jobs);
    },
  },
  {
    name: "a new job under its id, waiting",
    async take(next, jobs) {
      for (const job of await claimAll(next, jobs)) await next.ack(job);
      await next.enqueueMany(jobs.map((job) => ({ ...job, delaySeconds: longSeconds })));
    },
  },
];

/** Claims exactly these jobs, and throws if it gets others or fewer. */
async function claimAll(table: JobTable, jobs: readonly NewJob[]): Promise<readonly Job[]> {
  const claimed = await table.claim(jobs.length);
  const wanted = new Set(jobs.map(({ id }) => id));
  if (claimed.length !== jobs.length || claimed.some(({ id }) => !wanted.has(id))) {
    throw new Error(`${claimed.length} of ${jobs.length} jobs were claimed`);
  }
  return claimed;
}

async function byHand(owner: NextOwner, count: number, { bench, next, run, report }: Scene): Promise<void> {
  const { name } = owner;
  const owners = lateOwners(run.variant, bench.table, bench.pool);
  const jobs = Array.from({ length: count }, (_, n) => ({ id: `job-${n}`, task: "late" }));
  await bench.table.enqueueMany(jobs);
  const leases = await claimAll(bench.table, jobs);
  await delay(overMs);
  await owner.take(next, jobs);
  const before = await wholeRows(bench);
  // End all of these jobs concurrently.
  const lost = await Promise.all(leases.map((lease, n) => pick(owners, n).end(lease)));
  reportLateOwners(name, lost.filter((each) => each).length, before, await wholeRows(bench), report);
}

function reportLateOwners(
  name: string,
  lost: number,
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
  report: Report,
): void {
  const changed = [...before].filter(([id, row]) => after.get(id) !== row).length;
  report.figure(name, "races", before.size, "count");
  report.figure(name, "owners that learn of the lost lease", lost, "count");
  report.figure(name, "jobs of others changed", changed, "count");
  report.rule(changed === 0, `${name}: a late owner changes no row (${changed} changed)`);
  report.rule(
    lost === before.size,
    `${name}: a late owner learns that its lease is lost (${lost} of ${before.size})`,
  );
}

async function wholeRows({ pool, table }: JobBench): Promise<ReadonlyMap<string, string>> {
  const { rows } = await pool.query<{ id: string; row: string }>(
    `select id, job::text as row from ${table.name} as job`,
  );
  return new Map(rows.map(({ id, row }) => [id, row]));
}

function pick(owners: readonly LateOwner[], n: number): LateOwner {
  const owner = owners[n % owners.length];
  if (owner === undefined) throw new Error("no late owners");
  return owner;
}

/**
 * Lets the late owner acknowledge each job while `next` claims it, after the lease has expired. Exactly one of them
 * must succeed.
 */
async function sameInstant(count: number, { bench, next, run, report }: Scene): Promise<void> {
  const name = "ended and claimed concurrently";
  const jobs = Array.from({ length: count }, (_, n) => ({ id: `job-${n}`, task: "late" }));
  await bench.table.enqueueMany(jobs);
  const leases = await claimAll(bench.table, jobs);
  await delay(overMs);
  const owners = lateOwners(run.variant, bench.table, bench.pool);
  const acks = owners.filter((owner) => owner.name.startsWith("ack"));
  const claiming: Promise<readonly Job[]>[] = [];
  const acking = leases.map((lease, n) => {
    // Interleave claims with the acknowledgements: one claim for every two jobs.
    if (n % 2 === 0) claiming.push(next.claim(1));
    return pick(acks, n).end(lease);
  });
  const [lost, claimed] = await Promise.all([Promise.all(acking), Promise.all(claiming)]);
  const taken = new Set(claimed.flat().map(({ id }) => id));
  const rows = new Map((await bench.rows()).map((row) => [row.id, row]));
  const fine = leases.filter(({ id }, n) => {
    const row = rows.get(id);
    return lost[n] === true
      ? row?.status === "running" && taken.has(id)
      : row === undefined && !taken.has(id);
  });
  report.figure(name, "races", leases.length, "count");
  report.figure(name, "ended by the late owner", lost.filter((each) => !each).length, "count");
  report.figure(name, "claimed by the next owner", taken.size, "count");
  report.rule(
    fine.length === leases.length,
    `${name}: exactly one of the two gets each job (${fine.length})`,
  );
}

interface FrozenWorker {
  readonly name: string;
  readonly payload: LatePayload;
  /** Whether the worker receives SIGTERM before it resumes. */
  readonly stops: boolean;
}

const frozenWorkers: readonly FrozenWorker[] = [
  { name: "frozen, then its jobs are done", payload: { ms: 2500, ends: "done" }, stops: false },
  { name: "frozen, then its jobs fail", payload: { ms: 2500, ends: "failed" }, stops: false },
  { name: "frozen, then it stops", payload: { ms: 0, ends: "stopped" }, stops: true },
];

/** Freezes a worker process until its leases have expired and other owners have its jobs, and resumes it. */
async function frozenWorker(
  { name, payload, stops }: FrozenWorker,
  count: number,
  { bench, next, url, report }: Scene,
): Promise<void> {
  const jobs = Array.from({ length: count }, (_, n) => ({ id: `job-${n}`, task: "late", payload }));
  const { worker: frozen, notes } = await freeze(jobs, bench, url);
  await using worker = frozen;
  await delay(frozenSeconds * 1000 + 200);
  const held = await claimAll(next, jobs);
  // Complete half of the jobs, and enqueue new jobs with the same ids.
  const again = jobs.filter((_, n) => n % 2 === 0);
  const ids = new Set(again.map(({ id }) => id));
  for (const job of held) if (ids.has(job.id)) await next.ack(job);
  await next.enqueueMany(again);
  await claimAll(next, again);
  const before = await wholeRows(bench);
  if (stops) worker.signal("SIGTERM");
  worker.signal("SIGCONT");
  await until(() => readNotes(notes).length >= 2 * count);
  const lost = readNotes(notes).filter(({ kind }) => kind === "lost").length;
  reportLateOwners(name, lost, before, await wholeRows(bench), report);
}

/** Returns a worker that was frozen while it ran all these jobs. Tries again if a job ended before the freeze. */
async function freeze(
  jobs: readonly NewJob[],
  bench: JobBench,
  url: string,
): Promise<{ readonly worker: ServiceProcess; readonly notes: string }> {
  for (let turn = 0; turn < 5; turn++) {
    const notes = join(bench.folder, `frozen-${turn}`);
    const worker = await startService("job-late.ts", {
      url,
      name: bench.table.name,
      visibilitySeconds: frozenSeconds,
      concurrency: jobs.length,
      notes,
      variant: asBuilt,
    } satisfies LateSettings);
    await bench.table.enqueueMany(jobs);
    await until(() => readNotes(notes).length >= jobs.length);
    worker.signal("SIGSTOP");
    // After the delay the signal has taken effect, and the worker writes no more notes.
    await delay(50);
    const noted = readNotes(notes);
    if (noted.length === jobs.length && noted.every(({ kind }) => kind === "start")) return { worker, notes };
    await worker[Symbol.asyncDispose]();
    await bench.pool.query(`truncate ${bench.table.name}`);
  }
  throw new Error("no worker could be frozen in time");
}

async function until(held: () => boolean): Promise<void> {
  for (let waited = 0; !held() && waited < 30_000; waited += 50) await delay(50);
}

/** Runs jobs that kill their worker at each attempt, together with ordinary jobs. */
async function killers({ bench, url, run, report }: Scene): Promise<void> {
  const name = "jobs that kill their worker";
  const count = run.quick ? 1 : 5;
  const maxAttempts = run.quick ? 2 : 3;
  const killing = Array.from({ length: count }, (_, n) => ({
    id: `killer-${n}`,
    task: "killer",
    maxAttempts,
  }));
  const good = Array.from({ length: 4 * count }, (_, n) => ({ id: `good-${n}`, task: "good" }));
  await bench.table.enqueueMany([...killing, ...good]);
  const files: string[] = [];
  // Concurrency 1 in each process, so that a killed worker holds no other job.
  const next = (): Promise<ServiceProcess> => {
    const notes = join(bench.folder, `killer-${files.length}`);
    files.push(notes);
    return startService("job-late.ts", {
      url,
      name: bench.table.name,
      visibilitySeconds,
      concurrency: 1,
      notes,
      variant: run.variant,
    } satisfies LateSettings);
  };
  const over = new AbortController();
  const most = count * maxAttempts + 4;
  const keepRunning = async (): Promise<void> => {
    while (!over.signal.aborted && files.length <= most) {
      await using worker = await next();
      await Promise.race([worker.exited, aborted(over.signal)]);
    }
  };
  const processes = Array.from({ length: run.quick ? 1 : 2 }, keepRunning);
  const tooOften = (): boolean =>
    killing.some(({ id }) => startsOf(files.flatMap(readNotes), id) > maxAttempts);
  let settled = false;
  for (let waited = 0; waited < 60 && !settled && !tooOften(); waited++) settled = await bench.drained(1000);
  // Wait long enough for another attempt to start, if one were made.
  if (!tooOften()) await delay(2.5 * visibilitySeconds * 1000);
  over.abort();
  await Promise.all(processes);
  reportKillers(
    name,
    { settled, maxAttempts, killing, good: good.length },
    files.flatMap(readNotes),
    { rows: await bench.rows(), effects: await bench.effects() },
    report,
  );
}

interface Killing {
  readonly settled: boolean;
  readonly maxAttempts: number;
  readonly killing: readonly { readonly id: string }[];
  readonly good: number;
}

interface Found {
  readonly rows: Awaited<ReturnType<JobBench["rows"]>>;
  readonly effects: ReadonlyMap<string, number>;
}

function reportKillers(
  name: string,
  { settled, maxAttempts, killing, good }: Killing,
  notes: readonly Note[],
  { rows, effects }: Found,
  report: Report,
): void {
  const starts = killing.map(
    ({ id }) => notes.filter((note) => note.id === id && note.kind === "start").length,
  );
  const dead = rows.filter(
    (row) => row.status === "dead" && row.last_error === "lease expired on the last attempt",
  );
  const asOften = starts.filter((each) => each === maxAttempts).length;
  report.figure(name, "jobs", killing.length, "count");
  report.figure(name, "attempts allowed", maxAttempts, "count");
  report.figure(
    name,
    "workers killed",
    starts.reduce((sum, each) => sum + each, 0),
    "count",
  );
  report.figure(name, "started max_attempts times", asOften, "count");
  report.figure(name, "dead", dead.length, "count");
  report.figure(name, "others done", effects.size, "count");
  report.rule(
    asOften === killing.length,
    `${name}: each is started max_attempts times (${starts.join(", ")})`,
  );
  report.rule(settled && dead.length === killing.length, `${name}: each is dead afterwards (${dead.length})`);
  report.rule(effects.size === good, `${name}: all others are done (${effects.size} of ${good})`);
}

function startsOf(notes: readonly Note[], id: string): number {
  return notes.filter((note) => note.id === id && note.kind === "start").length;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
