import { openTestDatabase } from "@svc/dev-services";
import { createInbox } from "@svc/events";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createRandom, type Random } from "./fuzz/random.ts";
import { asBuilt, type Experiment, type Run } from "./harness/experiment.ts";
import { type JobBench, openJobBench } from "./harness/job-bench.ts";
import { type Note, readNotes } from "./harness/job-notes.ts";
import { quantile, type Report } from "./harness/report.ts";
import { startService } from "./harness/service-process.ts";
import { startStallMonitor, type StallMonitor } from "./harness/stall-monitor.ts";
import type { StoppedPayload, StoppedSettings } from "./services/job-stopped.ts";

/** The lease in seconds, far longer than a run: a job whose release waits for the end of its lease misses the limit. */
const visibilitySeconds = 300;
/** Milliseconds for which `stop()` waits for aborted handlers, and again for the last writes. */
const settleMs = 1000;

/** Sends SIGTERM to worker processes that run jobs. */
export const jobStop: Experiment = {
  name: "job-stop",
  description:
    "SIGTERM to a worker with 200 running jobs: each is finished, or released with its attempt restored",
  brokenVariants: ["broken-exit-at-once", "broken-keeps-attempts"],
  async run(run, report) {
    const seed = run.seed ?? Math.floor(Math.random() * 2 ** 31);
    report.note(`seed ${seed}`);
    const random = createRandom(seed);
    await using database = await openTestDatabase({ name: "job-stop" });
    await using bench = await openJobBench(database.url, visibilitySeconds);
    await createInbox().ensureSchema(bench.pool);
    await using stallMonitor = await startStallMonitor();
    const scene: Scene = { bench, stallMonitor, url: database.url, run, random, kinds: new Map() };
    const runs = run.runs ?? (run.quick ? (run.variant === asBuilt ? 2 : 1) : 20);
    const stops: Stopped[] = [];
    let left = 0;
    let drained = true;
    // A short run of a variant needs no second worker: the fault shows when the first one stops.
    const isEnough = run.quick && run.variant !== asBuilt;
    for (let n = 0; n < runs; n++) {
      stops.push(await stopOne(scene, n));
      left += (await bench.rows()).length;
      if (!isEnough) drained &&= await finish(scene, n);
    }
    reportStops(scene, stops, report);
    if (isEnough) return;
    const once = [...(await bench.effects()).values()].filter((each) => each === 1).length;
    report.figure("all", "jobs left for the next worker", left, "count");
    report.figure("all", "jobs", scene.kinds.size, "count");
    report.figure("all", "jobs with one effect", once, "count");
    report.rule(drained, "the next worker runs the released jobs without waiting for a lease");
    report.rule(once === scene.kinds.size, "no job is lost, and each takes effect once");
  },
};

interface Scene {
  readonly bench: JobBench;
  readonly stallMonitor: StallMonitor;
  readonly url: string;
  readonly run: Run;
  readonly random: Random;
  readonly kinds: Map<string, StoppedPayload["kind"]>;
}

const drainSeconds = 1;
const concurrency = 200;
/** The number of jobs that must run when the signal is sent. */
const fewestRunning = concurrency * 0.95;
/** Number of jobs to claim in advance. With this number, a claim is in flight while the worker runs jobs. */
const prefetch = 240;

interface Stopped {
  readonly running: number;
  readonly kinds: Readonly<Record<StoppedPayload["kind"], number>>;
  readonly finished: number;
  readonly givenBack: number;
  /** The number of released jobs whose handlers ignored their abort signals. */
  readonly deaf: number;
  /** The number of jobs that were neither finished nor released with their attempt restored. */
  readonly neither: number;
  readonly leased: number;
  readonly unstarted: number;
  readonly exitCode: number | null;
  /** Milliseconds from the signal to the exit, minus the stalls that the stall monitor observed. */
  readonly stopMs: number;
}

function payloadOf(random: Random): StoppedPayload {
  const kind = random.pick(["short", "short", "heeding", "deaf"] as const);
  // Most of the short jobs finish during the drain.
  return { kind, ms: kind === "short" ? 200 + random.whole(900) : 60_000 };
}

async function stopOne(scene: Scene, n: number): Promise<Stopped> {
  const { bench, stallMonitor, url, run, random, kinds } = scene;
  const more = Array.from({ length: 3 * concurrency }, (_, each) => {
    const id = `job-${n}-${each}`;
    const payload = payloadOf(random);
    kinds.set(id, payload.kind);
    return { id, task: "work", payload };
  });
  await bench.table.enqueueMany(more);
  const notes = join(bench.folder, `worker-${n}`);
  await using worker = await startService("job-stopped.ts", {
    // Every second worker prefetches jobs.
    url,
    concurrency,
    prefetch: n % 2 === 0 ? 0 : prefetch,
    drainSeconds,
    notes,
    variant: run.variant,
    quickly: false,
  } satisfies StoppedSettings);
  const begun = (): readonly Note[] => readNotes(notes).filter(({ kind }) => kind === "start");
  // Short jobs finish continuously, and on a busy machine it takes a while until others have started in their place.
  let running = runningOf(readNotes(notes));
  for (let waited = 0; running.length < fewestRunning && waited < 20_000; waited += 10) {
    await delay(10);
    running = runningOf(readNotes(notes));
  }
  const signalled = performance.now();
  worker.signal("SIGTERM");
  const exit = await Promise.race([worker.exited, delay(30_000, undefined, { ref: false })]);
  const rows = new Map((await bench.rows()).map((row) => [row.id, row]));
  const effects = await bench.effects();
  const started = new Set(begun().map(({ id }) => id));
  const isBack = (id: string): boolean => {
    const row = rows.get(id);
    return row?.status === "pending" && row.attempts === 0 && row.free;
  };
  const isDone = (id: string): boolean => !rows.has(id) && effects.has(id);
  const back = [...started].filter(isBack);
  const count = (kind: StoppedPayload["kind"]): number =>
    running.filter((id) => kinds.get(id) === kind).length;
  return {
    running: running.length,
    kinds: { short: count("short"), heeding: count("heeding"), deaf: count("deaf") },
    finished: [...started].filter(isDone).length,
    givenBack: back.length,
    deaf: back.filter((id) => kinds.get(id) === "deaf").length,
    neither: [...started].filter((id) => !isDone(id) && !isBack(id)).length,
    leased: [...rows.values()].filter(({ status }) => status === "running").length,
    unstarted: [...rows.keys()].filter((id) => !started.has(id) && !isBack(id)).length,
    exitCode: exit?.code ?? null,
    stopMs:
      exit === undefined
        ? Number.POSITIVE_INFINITY
        : exit.at - signalled - stallMonitor.between(signalled, exit.at),
  };
}

function runningOf(notes: readonly Note[]): readonly string[] {
  const open = new Set<string>();
  for (const { kind, id } of notes) {
    if (kind === "start") open.add(id);
    else open.delete(id);
  }
  return [...open];
}

/** Runs a worker until no job is left, and stops it. A kill could leave a claim in flight. */
async function finish({ bench, url, run }: Scene, n: number): Promise<boolean> {
  const notes = join(bench.folder, `next-${n}`);
  await using worker = await startService("job-stopped.ts", {
    url,
    concurrency: 20,
    prefetch: 0,
    drainSeconds,
    notes,
    variant: asBuilt,
    quickly: true,
  } satisfies StoppedSettings);
  const drained = await bench.drained(run.variant === asBuilt ? 30_000 : 3000);
  worker.signal("SIGTERM");
  const exit = await Promise.race([worker.exited, delay(30_000, undefined, { ref: false })]);
  return drained && exit?.code === 0;
}

function reportStops({ run }: Scene, stops: readonly Stopped[], report: Report): void {
  const sum = (value: (stopped: Stopped) => number): number =>
    stops.reduce((total, each) => total + value(each), 0);
  const times = stops.map((each) => each.stopMs);
  const figures: readonly (readonly [string, number])[] = [
    ["stops", stops.length],
    ["running at the signal", sum((each) => each.running)],
    ["of those short", sum((each) => each.kinds.short)],
    ["of those longer than the drain", sum((each) => each.kinds.heeding)],
    ["of those that ignore their signals", sum((each) => each.kinds.deaf)],
    ["started and finished", sum((each) => each.finished)],
    ["started and given back", sum((each) => each.givenBack)],
    ["of those whose handlers went on", sum((each) => each.deaf)],
    ["started, neither finished nor given back", sum((each) => each.neither)],
    ["left with a lease", sum((each) => each.leased)],
    ["not started, but changed", sum((each) => each.unstarted)],
    ["exits with 0", stops.filter((each) => each.exitCode === 0).length],
  ];
  for (const [metric, value] of figures) report.figure("all", metric, value, "count");
  report.figure("all", "signal to exit, longest", Math.max(...times), "ms");
  report.figure("all", "signal to exit, median", quantile(times, 0.5), "ms");
  const fewest = Math.min(...stops.map((each) => each.running));
  report.rule(fewest >= fewestRunning, `${concurrency} jobs run at the signal (minimum: ${fewest})`);
  report.rule(
    sum((each) => each.neither) === 0,
    `each running job is finished, or released with its attempt restored (${sum((each) => each.neither)} are not)`,
  );
  report.rule(
    sum((each) => each.leased) === 0,
    `no job keeps a lease, not even one whose handler ignored its signal`,
  );
  report.rule(sum((each) => each.unstarted) === 0, "jobs that were not started are unchanged");
  report.rule(
    stops.every((each) => each.exitCode === 0),
    "every exit code is 0",
  );
  const atMost = drainSeconds * 1000 + settleMs + (run.quick ? 5000 : 1000);
  report.rule(Math.max(...times) <= atMost, `the worker exits within ${atMost} ms`);
}
