// The process of one queue. It only replies to the parent's requests and is idle in between.
import { setTimeout as delay } from "node:timers/promises";
import { type Contestant, handlers, type HandlerName, type Mode, type Working } from "./contestant.ts";
import { serverCpu } from "./server-cpu.ts";

/** The orders that the parent sends. */
export type Order =
  | { readonly order: "about" }
  | Task
  | { readonly order: "latency"; readonly mode: Mode; readonly jobs: number }
  | ShareOrder;

/** The orders to each of several processes that drain one table together, in this sequence. */
export type ShareOrder =
  | { readonly order: "fill"; readonly jobs: number }
  | { readonly order: "begin"; readonly concurrency: number }
  | { readonly order: "wait" }
  | { readonly order: "end" };

/**
 * The work of one process in such a drain. `begun` is the number of handlers that it started. `atMs` is in milliseconds
 * since the epoch: in the reply to `end` the start of its first handler, in other replies the current time.
 */
export interface Share {
  readonly atMs: number;
  readonly begun: number;
}

/** A task that is timed as a whole. */
export type Task =
  | {
      readonly order: "drain";
      readonly handler: HandlerName;
      readonly concurrency: number;
      readonly mode: Mode;
      readonly jobs: number;
    }
  | { readonly order: "enqueue"; readonly how: "single" | "bulk"; readonly jobs: number };

/** The time of a drain or of many enqueues in microseconds: wall clock, CPU of this process, and CPU of the server. */
export interface Took {
  readonly wallUs: number;
  readonly workerCpuUs: number;
  readonly serverCpuUs: number | undefined;
}

export type Reply =
  | { readonly about: string }
  | Took
  | Share
  | { readonly latenciesMs: readonly number[] }
  | { readonly error: string };

const [name = "", url = "", serverPid = "0"] = process.argv.slice(2);
const IN_FLIGHT = 10;
const BULK = 1000;
const UNCOUNTED = 3;
let ready: Promise<Contestant> | undefined;

/** Loads only the library of this process's queue. */
async function open(): Promise<Contestant> {
  switch (name) {
    case "graphile-worker":
      return (await import("./graphile-worker.ts")).createGraphile(url);
    case "pg-boss":
      return (await import("./pg-boss.ts")).createBoss(url);
    case "pg-boss-4x125":
      return (await import("./pg-boss.ts")).createBoss(url, 4);
    case "by-hand":
      return (await import("./by-hand.ts")).createByHand(url);
    case "commit":
      return (await import("./commit.ts")).createCommit(url);
    default:
      return (await import("./svc.ts")).createSvc(url, name === "svc-apart");
  }
}

async function obey(order: Order): Promise<Reply> {
  ready ??= open();
  const queue = await ready;
  switch (order.order) {
    case "about":
      return { about: queue.about };
    case "drain":
      return drain(queue, order.handler, order.concurrency, order.mode, order.jobs);
    case "enqueue":
      return enqueue(queue, order.how, order.jobs);
    case "latency":
      return latency(queue, order.mode, order.jobs);
    default:
      return share(queue, order);
  }
}

let working: Working | undefined;
let own: Share = { atMs: Infinity, begun: 0 };

async function share(queue: Contestant, order: ShareOrder): Promise<Share> {
  const now = (): number => performance.timeOrigin + performance.now();
  switch (order.order) {
    case "fill":
      await queue.clean();
      await queue.fill(numbers(order.jobs));
      await queue.analyze();
      break;
    case "begin":
      own = { atMs: Infinity, begun: 0 };
      working = await queue.work(order.concurrency, "fastest", () => {
        own = { atMs: Math.min(own.atMs, now()), begun: own.begun + 1 };
        return undefined;
      });
      break;
    case "wait":
      while (await queue.live()) await delay(1);
      break;
    case "end":
      await working?.stop();
      return own;
  }
  return { atMs: now(), begun: own.begun };
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, n) => n);
}

/** Starts the clocks; the returned function reads them, in microseconds. */
function clock(): () => Took {
  const server = serverCpu(Number(serverPid));
  const cpu = process.cpuUsage();
  const begun = performance.now();
  return () => {
    const wallUs = (performance.now() - begun) * 1000;
    const { user, system } = process.cpuUsage(cpu);
    return { wallUs, workerCpuUs: user + system, serverCpuUs: server?.() };
  };
}

/**
 * Drains `jobs` waiting jobs. The clock starts with the first handler, which excludes the start-up, and stops when no job is
 * live, which includes the last write. Every job must start exactly once.
 */
async function drain(
  queue: Contestant,
  handler: HandlerName,
  concurrency: number,
  mode: Mode,
  jobs: number,
): Promise<Reply> {
  const waitMs = handlers[handler];
  await queue.clean();
  await queue.fill(numbers(jobs));
  await queue.analyze();
  const begun = new Uint8Array(jobs);
  const all = Promise.withResolvers<void>();
  let left = jobs;
  let stopClock: (() => Took) | undefined;
  const working: Working = await queue.work(concurrency, mode, (n) => {
    stopClock ??= clock();
    begun[n] = (begun[n] ?? 0) + 1;
    if (waitMs > 0) return delay(waitMs).then(ended);
    ended();
    return undefined;
  });
  function ended(): void {
    if (--left === 0) all.resolve();
  }
  await all.promise;
  while (await queue.live()) await delay(1);
  const took = stopClock?.();
  await working.stop();
  const wrong = begun.findIndex((times) => times !== 1);
  if (took === undefined || wrong >= 0) throw new Error(`job ${wrong} was started ${begun[wrong]} times`);
  if (await queue.live()) throw new Error("some jobs have not run");
  return took;
}

async function enqueue(queue: Contestant, how: "single" | "bulk", jobs: number): Promise<Reply> {
  await queue.clean();
  const all = numbers(jobs);
  const stopClock = clock();
  if (how === "bulk") {
    for (let at = 0; at < jobs; at += BULK) await queue.enqueueMany(all.slice(at, at + BULK));
  } else {
    const lane = async (): Promise<void> => {
      for (let n = all.pop(); n !== undefined; n = all.pop()) await queue.enqueueOne(n);
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
  }
  const took = stopClock();
  await empty(queue, jobs);
  return took;
}

/** Runs all queued jobs, which also checks their number. */
async function empty(queue: Contestant, jobs: number): Promise<void> {
  const begun = new Set<number>();
  const all = Promise.withResolvers<void>();
  const working = await queue.work(IN_FLIGHT, "fastest", (n) => {
    begun.add(n);
    if (begun.size === jobs) all.resolve();
    return undefined;
  });
  await all.promise;
  while (await queue.live()) await delay(1);
  await working.stop();
}

/** Returns latencies: from the call that queues a job until its handler starts, while the queue is otherwise idle. */
async function latency(queue: Contestant, mode: Mode, jobs: number): Promise<Reply> {
  queue.tell?.();
  await queue.clean();
  const latenciesMs: number[] = [];
  let begun: () => void = () => undefined;
  const working = await queue.work(IN_FLIGHT, mode, () => {
    begun();
    return undefined;
  });
  await delay(300);
  // After the vacuum each connection looks up the table again, which is not the queue's cost, so these first jobs are
  // not counted. A queue may have several connections, so one job for each is queued together.
  const awake = Promise.withResolvers<void>();
  const connections = queue.isSingle === true ? 1 : IN_FLIGHT;
  let left = connections;
  begun = () => {
    if (--left === 0) awake.resolve();
  };
  await Promise.all(numbers(connections).map((n) => queue.enqueueOne(n)));
  await awake.promise;
  for (let n = -UNCOUNTED; n < jobs; n++) {
    // Pause for a random time, so that no queue's polling interval matches it.
    await delay(15 + 15 * Math.random());
    const started = new Promise<void>((resolve) => (begun = resolve));
    const at = performance.now();
    const queued = queue.enqueueOne(n);
    await started;
    if (n >= 0) latenciesMs.push(performance.now() - at);
    await queued;
  }
  while (await queue.live()) await delay(1);
  await working.stop();
  return { latenciesMs };
}

process.on("message", (order: Order) => {
  obey(order).then(
    (reply) => process.send?.(reply),
    (error: unknown) =>
      process.send?.({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  );
});
process.on("disconnect", () => process.exit());
