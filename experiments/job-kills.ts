import { openTestDatabase, type PostgresServer, startPostgres } from "@svc/dev-services";
import { createInbox } from "@svc/events";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createRandom, type Random } from "./fuzz/random.ts";
import { asBuilt, type Experiment, type Run } from "./harness/experiment.ts";
import { type JobBench, openJobBench } from "./harness/job-bench.ts";
import { type Hold, holdsOf, type Note, readNotes, sharedNow } from "./harness/job-notes.ts";
import type { Report } from "./harness/report.ts";
import { type ServiceProcess, startService } from "./harness/service-process.ts";
import { together } from "./harness/together.ts";
import type { KilledSettings, Moment } from "./services/job-killed.ts";

/** Kills worker processes, and restarts PostgreSQL, while jobs run. */
export const jobKills: Experiment = {
  name: "job-kills",
  description: "workers are killed and PostgreSQL is restarted while jobs run: every job takes effect once",
  brokenVariants: ["broken-ack-first", "broken-no-inbox", "broken-read-then-write"],
  async run(run, report) {
    const seed = run.seed ?? Math.floor(Math.random() * 2 ** 31);
    report.note(`seed ${seed}`);
    const runs = run.runs ?? 1;
    const all: Counts[] = [];
    for (let n = 0; n < runs; n++) {
      const name = runs === 1 ? "all" : `run ${n + 1}`;
      const counts = await oneRun(run, createRandom(seed + n));
      reportResults(name, counts, report);
      all.push(counts);
    }
    if (runs > 1) reportTotals(all, report);
  },
};

/**
 * The point at which a kill shows the fault of a variant. Handlers wait there, because a kill at a random time may miss
 * it.
 */
const exposedAt: Readonly<Record<string, Moment>> = {
  "broken-ack-first": "before",
  "broken-no-inbox": "after",
};

interface Size {
  readonly jobs: number;
  readonly workers: number;
  readonly kills: number;
  readonly visibilitySeconds: number;
  readonly longestMs: number;
  readonly meanGapMs: number;
}

function sizeOf({ quick, variant, cases }: Run): Size {
  if (!quick) {
    const jobs = cases ?? 10_000;
    return { jobs, workers: 8, kills: 40, visibilitySeconds: 5, longestMs: 150, meanGapMs: 400 };
  }
  const small = { longestMs: 100, meanGapMs: 150 };
  if (variant === asBuilt)
    return { ...small, jobs: cases ?? 400, workers: 3, kills: 6, visibilitySeconds: 3 };
  // One kill at the exposed point shows the fault of these variants. The remaining variant takes another worker's jobs,
  // which shows without a kill.
  const crew = variant in exposedAt ? { workers: 1, kills: 1 } : { workers: 2, kills: 0 };
  return { ...small, ...crew, jobs: cases ?? 100, visibilitySeconds: 1.5 };
}

/** A kill of a worker or a restart of the database, and the jobs that the workers held at that time. */
interface Fault {
  readonly kind: "kill" | "restart";
  readonly held: readonly string[];
}

interface Counts {
  readonly size: Size;
  readonly seconds: number;
  readonly drained: boolean;
  readonly faults: readonly Fault[];
  readonly starts: ReadonlyMap<string, number>;
  readonly ends: readonly Note[];
  readonly effects: ReadonlyMap<string, number>;
  readonly dead: readonly { readonly id: string; readonly max_attempts: number }[];
  /** The number of rows in the table whose jobs are not dead. */
  readonly left: number;
}

interface Server extends AsyncDisposable {
  readonly url: string;
  /** The server, if only this run uses it; undefined when other tests share the server. */
  readonly own: PostgresServer | undefined;
}

async function openServer({ quick, variant }: Run): Promise<Server> {
  // The variants show their faults without a restart of the database.
  if (quick && variant !== asBuilt) return Object.assign(await openTestDatabase(), { own: undefined });
  const durable = { fsync: "on", synchronous_commit: "on", full_page_writes: "on" };
  const settings = quick ? { synchronous_commit: "on" } : durable;
  const own = await startPostgres({ purpose: "test", settings });
  return { url: own.url, own, [Symbol.asyncDispose]: () => own.stop() };
}

async function oneRun(run: Run, random: Random): Promise<Counts> {
  const size = sizeOf(run);
  await using server = await openServer(run);
  await using bench = await openJobBench(server.url, size.visibilitySeconds);
  await createInbox().ensureSchema(bench.pool);
  const ids = Array.from({ length: size.jobs }, (_, n) => `job-${n}`);
  await using crew = await openCrew(run, random, server, bench, size);
  // Enqueue only after all workers have started: on a busy machine the first one would run all the jobs.
  await bench.table.enqueueMany(ids.map((id) => ({ id, task: "work" })));
  const began = performance.now();
  const restarts: (readonly [number, number])[] = [];
  let restarting: Promise<void> | undefined;
  const restart = async (crash: boolean): Promise<void> => {
    const from = sharedNow();
    if (crash) await server.own?.kill();
    await server.own?.restart();
    restarts.push([from, sharedNow()]);
  };
  for (let n = 1; n <= size.kills; n++) {
    await delay(random.whole(2 * size.meanGapMs));
    // Kill the workers in the order of their starts, because only the first ones wait at the exposed point.
    await crew.kill(run.variant in exposedAt ? (n - 1) % size.workers : random.whole(size.workers));
    if (server.own === undefined) continue;
    // Kills continue during a restart. The first restart is clean, the second one recovers from a crash.
    if (n === Math.floor(size.kills / 3)) restarting = restart(false);
    if (n === Math.floor((size.kills * 2) / 3)) restarting = restarting?.then(() => restart(true));
  }
  await restarting;
  const drained = await bench.drained(run.quick ? 30_000 : 180_000);
  const seconds = (performance.now() - began) / 1000;
  const notes = crew.notes();
  const rows = await bench.rows();
  const starts = new Map<string, number>();
  const all = notes.flat();
  for (const { kind, id } of all) if (kind === "start") starts.set(id, (starts.get(id) ?? 0) + 1);
  return {
    size,
    seconds,
    drained,
    starts,
    faults: [...crew.kills(), ...restarts.map((span) => faultOf(span, notes))],
    ends: all.filter(({ kind }) => kind !== "start" && kind !== "exposed"),
    effects: await bench.effects(),
    dead: rows.filter(({ status }) => status === "dead"),
    left: rows.filter(({ status }) => status !== "dead").length,
  };
}

function faultOf([from, to]: readonly [number, number], notes: readonly (readonly Note[])[]): Fault {
  const held = (hold: Hold): boolean => hold.from <= to && hold.to >= from;
  return {
    kind: "restart",
    held: notes.flatMap((each) =>
      holdsOf(each)
        .filter(held)
        .map(({ id }) => id),
    ),
  };
}

/** Worker processes; each one is replaced after a kill. */
interface Crew extends AsyncDisposable {
  kill(index: number): Promise<void>;
  kills(): readonly Fault[];
  /** Returns the notes of all processes, including the killed ones. */
  notes(): readonly (readonly Note[])[];
}

async function openCrew(
  run: Run,
  random: Random,
  { url }: Server,
  bench: JobBench,
  size: Size,
): Promise<Crew> {
  const { visibilitySeconds, longestMs, workers } = size;
  const files: string[] = [];
  const kills: Fault[] = [];
  const start = async (): Promise<Member> => {
    const notes = join(bench.folder, `worker-${files.length}`);
    files.push(notes);
    const { variant } = run;
    const staysAt = files.length <= size.kills ? exposedAt[variant] : undefined;
    const settings: KilledSettings = { url, visibilitySeconds, notes, longestMs, variant, staysAt };
    const process = await startService("job-killed.ts", settings);
    return { process, notes, [Symbol.asyncDispose]: () => process[Symbol.asyncDispose]() };
  };
  const members: Promise<Member>[] = (await together(Array.from({ length: workers }, start))).map((member) =>
    Promise.resolve(member),
  );
  return {
    async kill(index) {
      const member = await members[index];
      if (member === undefined) return;
      // Wait until the worker runs a job, but only for a limited time, because no jobs may be left for it.
      const [atWork, mostMs] = run.variant in exposedAt ? ["exposed", 20_000] : ["start", 2000];
      const isAtWork = (): boolean => readNotes(member.notes).some(({ kind }) => kind === atWork);
      for (let waited = 0; waited < mostMs && !isAtWork(); waited += 20) await delay(20);
      await delay(random.whole(100));
      member.process.signal("SIGKILL");
      await member.process.exited;
      const ofLate = holdsOf(readNotes(member.notes)).filter(({ to }) => to === Number.POSITIVE_INFINITY);
      kills.push({ kind: "kill", held: ofLate.map(({ id }) => id) });
      // Do not wait for the replacement: other workers can be killed before it has started.
      members[index] = start();
      members[index].catch(() => undefined);
    },
    kills: () => kills,
    notes: () => files.map(readNotes),
    async [Symbol.asyncDispose]() {
      const open = await Promise.allSettled(members);
      for (const each of open) if (each.status === "fulfilled") await each.value[Symbol.asyncDispose]();
    },
  };
}

interface Member extends AsyncDisposable {
  readonly process: ServiceProcess;
  readonly notes: string;
}

interface Verdict {
  readonly kills: number;
  readonly killsThatHeld: number;
  readonly restarts: number;
  readonly lost: number;
  readonly early: number;
  readonly tooOften: number;
  readonly notOnce: number;
}

function judge({ size, faults, starts, effects, dead }: Counts): Verdict {
  const held = new Map<string, number>();
  for (const fault of faults) for (const id of new Set(fault.held)) held.set(id, (held.get(id) ?? 0) + 1);
  const isDead = new Set(dead.map(({ id }) => id));
  const ids = Array.from({ length: size.jobs }, (_, n) => `job-${n}`);
  const count = (hit: (id: string) => boolean): number => ids.filter(hit).length;
  const kills = faults.filter(({ kind }) => kind === "kill");
  return {
    kills: kills.length,
    killsThatHeld: kills.filter((each) => each.held.length > 0).length,
    restarts: faults.length - kills.length,
    lost: count((id) => !effects.has(id) && !isDead.has(id)),
    early: dead.filter(({ id, max_attempts: max }) => (starts.get(id) ?? 0) < max).length,
    tooOften: count((id) => (starts.get(id) ?? 0) > 1 + (held.get(id) ?? 0)),
    notOnce: count((id) => (effects.get(id) ?? 0) > 1),
  };
}

function reportResults(name: string, counts: Counts, report: Report): void {
  const { size, seconds, drained, starts, effects, dead, left, ends, faults } = counts;
  const { kills, killsThatHeld, restarts, lost, early, tooOften, notOnce } = judge(counts);
  const begun = [...starts.values()];
  const figures: readonly (readonly [string, number])[] = [
    ["jobs", size.jobs],
    ["kills", kills],
    ["kills of workers that held jobs", killsThatHeld],
    ["jobs held at a kill or a restart", faults.reduce((sum, each) => sum + each.held.length, 0)],
    ["restarts of PostgreSQL", restarts],
    ["starts", begun.reduce((sum, each) => sum + each, 0)],
    ["jobs started more than once", begun.filter((each) => each > 1).length],
    ["starts of one job, most", begun.length === 0 ? 0 : Math.max(...begun)],
    ["failed, to be tried again", ends.filter(({ kind }) => kind === "failed").length],
    ["ends after the lease", ends.filter(({ kind }) => kind === "lost").length],
    ["dead", dead.length],
    ["jobs with one effect", [...effects.values()].filter((each) => each === 1).length],
    ["lost", lost],
    ["dead before their attempts were used", early],
    ["started too often", tooOften],
    ["effects more than once", notOnce],
  ];
  for (const [metric, value] of figures) report.figure(name, metric, value, "count");
  report.figure(name, "time", seconds, "s");
  report.rule(drained && left === 0, `${name}: all jobs end (${left} have not)`);
  report.rule(
    kills === size.kills && (kills === 0 || killsThatHeld > (kills > 20 ? kills / 2 : 0)),
    `${name}: kills hit workers that hold jobs`,
  );
  report.rule(lost === 0, `${name}: no job is lost (${lost})`);
  report.rule(early === 0, `${name}: no job is dead before its attempts are used up (${early})`);
  report.rule(
    tooOften === 0,
    `${name}: no job starts more than once plus once for each kill or restart while it was held (${tooOften})`,
  );
  report.rule(notOnce === 0, `${name}: each job takes effect once (${notOnce} did not)`);
}

function reportTotals(all: readonly Counts[], report: Report): void {
  const verdicts = all.map(judge);
  for (const metric of ["kills", "restarts", "lost", "early", "tooOften", "notOnce"] as const) {
    const sum = verdicts.reduce((total, each) => total + each[metric], 0);
    report.figure("all runs", metric, sum, "count");
  }
}
