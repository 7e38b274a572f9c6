import { createWorker, type Worker, type WorkerEvent, type WorkerOptions } from "@svc/job-table";
import { until } from "@svc/test-support";
import type { Bench } from "./bench.ts";

/** The worker of one test, and its events. */
export interface Working extends AsyncDisposable {
  readonly worker: Worker;
  readonly events: readonly WorkerEvent[];
  /** Returns the job ids of one kind of event, in order. */
  ids(type: WorkerEvent["type"]): string[];
  /** Waits until `count` events of a kind have occurred. */
  reported(type: WorkerEvent["type"], count?: number): Promise<void>;
}

/** Starts a worker on a bench. */
export function work(bench: Bench, options: Omit<WorkerOptions, "table">): Working {
  const events: WorkerEvent[] = [];
  const worker = createWorker({
    table: bench.table,
    pollMs: 50,
    drainSeconds: 5,
    onEvent: (event) => events.push(event),
    ...options,
  });
  worker.start();
  const ids = (type: WorkerEvent["type"]): string[] =>
    events.flatMap((event) => {
      if (event.type !== type) return [];
      if ("jobs" in event) return event.jobs.map(({ id }) => id);
      return "job" in event ? [event.job.id] : [""];
    });
  return {
    worker,
    events,
    ids,
    reported: async (type, count = 1) =>
      void (await until(`${count} x ${type}`, () => ids(type).length >= count, 30_000)),
    [Symbol.asyncDispose]: () => worker.stop(),
  };
}

/** Returns a promise that the test resolves with `open()`. */
export function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}
