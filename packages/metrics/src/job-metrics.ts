import { defineOptions, kinds as k, namesOf, optionError, type OptionsOf } from "@svc/options";
import type { Registry } from "prom-client";
import Counter from "prom-client/lib/counter.js";
import Gauge from "prom-client/lib/gauge.js";
import Histogram from "prom-client/lib/histogram.js";
import PromRegistry from "prom-client/lib/registry.js";
import { addMetrics } from "./add-metrics.ts";

/** The properties of a job that the metrics use. */
interface CountedJob {
  readonly task: string;
  readonly waitedMs: number;
}

/**
 * The events that `jobMetrics()` counts: those of a `@svc/job-table` worker, or of another worker that emits the same
 * events.
 */
export type JobEvent =
  | { readonly type: "claimed"; readonly jobs: readonly CountedJob[] }
  | { readonly type: "done" | "failed" | "dead"; readonly job: CountedJob; readonly durationMs: number }
  | { readonly type: "released" | "lease_lost"; readonly job: CountedJob }
  | { readonly type: "depth"; readonly stats: Readonly<Record<"pending" | "running" | "dead", number>> }
  | { readonly type: "fault" };

const jobMetricsOptions = defineOptions("jobMetrics()", {
  /** The prom-client registry to add to, for example the one from `metrics()`. Required. */
  registry: { kind: k.objectWith<Registry>("a prom-client registry", "registerMetric", "metrics") },
  /** The tasks to count by name; other tasks count as `<unknown>`. Required. */
  tasks: { kind: k.listOf(k.string()) },
  /**
   * Called at each scrape for the number of running jobs. If it throws or does not return a number, the gauge is omitted.
   * Default: 0.
   */
  running: { kind: k.withDefault(k.func<() => number>(), () => 0) },
});

/** Options of `jobMetrics()`. */
export type JobMetricsOptions = OptionsOf<typeof jobMetricsOptions>;

// Upper bounds in seconds; they reach further than those for requests, because jobs take longer.
const BUCKETS = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/**
 * Returns a listener that counts the events of a worker: `createWorker({ onEvent: jobMetrics({ registry, tasks }) })`.
 *
 * @throws ConfigurationError for invalid options, or a registry that already has metrics with these names
 */
export function jobMetrics(options: JobMetricsOptions): (event: JobEvent) => void {
  const { registry, tasks, running } = jobMetricsOptions.resolve(options);
  const known = new Set(tasks);
  const taskOf = ({ task }: CountedJob): string => (known.has(task) ? task : "<unknown>");
  const own = new PromRegistry();
  const registers = [own];
  const ended = new Counter({
    name: "jobs_total",
    help: "Jobs that ended in this process, by task and outcome.",
    labelNames: ["task", "outcome"],
    registers,
  });
  const duration = new Histogram({
    name: "job_duration_seconds",
    help: "Duration of handlers, in seconds.",
    labelNames: ["task"],
    buckets: BUCKETS,
    registers,
  });
  const wait = new Histogram({
    name: "job_wait_seconds",
    help: "Time from when a job became due until it was claimed, in seconds.",
    labelNames: ["task"],
    buckets: BUCKETS,
    registers,
  });
  new Gauge({
    name: "jobs_in_progress",
    help: "Jobs whose handlers run in this process.",
    registers,
    collect() {
      try {
        const count: unknown = running();
        if (count instanceof Promise) count.catch(() => undefined);
        this.set(count as number);
      } catch {
        // Omit this gauge, so that the scrape still returns all other metrics.
        this.remove();
      }
    },
  });
  const depth = new Gauge({
    name: "queue_jobs",
    help: "Jobs in the table by status, as of the last count.",
    labelNames: ["status"],
    registers,
  });
  const faults = new Counter({
    name: "queue_faults_total",
    help: "Failed operations of the worker on the job table.",
    registers,
  });
  const taken = addMetrics(own, registry);
  if (taken.length > 0) {
    const message = `already has ${taken.join(", ")}; use a separate registry for each worker`;
    throw optionError(namesOf(options, jobMetricsOptions.subject), "registry", message);
  }

  return function countJobEvent(event) {
    if (event.type === "claimed") {
      for (const job of event.jobs) wait.observe({ task: taskOf(job) }, job.waitedMs / 1000);
    } else if (event.type === "depth") {
      for (const [status, count] of Object.entries(event.stats)) depth.set({ status }, count);
    } else if (event.type === "fault") faults.inc();
    else {
      const task = taskOf(event.job);
      ended.inc({ task, outcome: event.type });
      if ("durationMs" in event && known.has(event.job.task))
        duration.observe({ task }, event.durationMs / 1000);
    }
  };
}
