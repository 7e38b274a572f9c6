import { readdir, readFile } from "node:fs/promises";
import { constants, type PerformanceEntry, PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics } from "node:v8";
import type { Registry } from "prom-client";
import Counter from "prom-client/lib/counter.js";
import Gauge from "prom-client/lib/gauge.js";
import Histogram from "prom-client/lib/histogram.js";

/** The names of prom-client's default metrics, without its gauges with the suffix `_total`, which promtool refuses. */
export const PROCESS_METRICS: readonly string[] = [
  "process_cpu_user_seconds_total",
  "process_cpu_system_seconds_total",
  "process_cpu_seconds_total",
  "process_start_time_seconds",
  "process_resident_memory_bytes",
  "process_virtual_memory_bytes",
  "process_open_fds",
  "process_max_fds",
  "nodejs_heap_size_total_bytes",
  "nodejs_heap_size_used_bytes",
  "nodejs_external_memory_bytes",
  "nodejs_heap_space_size_total_bytes",
  "nodejs_heap_space_size_used_bytes",
  "nodejs_heap_space_size_available_bytes",
  "nodejs_active_resources",
  "nodejs_version_info",
  "nodejs_gc_duration_seconds",
];

/**
 * Registers the metrics of the process (MET-7). This replaces prom-client's own collector, which cannot be stopped, reads
 * `/proc` synchronously and keeps a second event-loop monitor running.
 *
 * @returns a function that stops the observer of garbage collections
 */
export function registerProcessMetrics(registry: Registry): () => void {
  cpu(registry);
  memory(registry);
  heapSpaces(registry);
  resources(registry);
  if (process.platform === "linux") linux(registry);
  return garbageCollection(registry);
}

function gauge(registry: Registry, name: string, help: string, read: () => number | Promise<number>): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    async collect() {
      this.set(await read());
    },
  });
}

function cpu(registry: Registry): void {
  const counter = (name: string, help: string, read: () => number): void => {
    new Counter({
      name,
      help,
      registers: [registry],
      collect() {
        this.reset();
        this.inc(read() / 1e6);
      },
    });
  };
  counter("process_cpu_user_seconds_total", "User CPU time in seconds.", () => process.cpuUsage().user);
  counter("process_cpu_system_seconds_total", "System CPU time in seconds.", () => process.cpuUsage().system);
  counter("process_cpu_seconds_total", "User and system CPU time in seconds.", () => {
    const { user, system } = process.cpuUsage();
    return user + system;
  });
  const startedAt = Math.round(Date.now() / 1000 - process.uptime());
  gauge(
    registry,
    "process_start_time_seconds",
    "When the process started, seconds of Unix time.",
    () => startedAt,
  );
}

function memory(registry: Registry): void {
  const add = (name: string, help: string, read: () => number): void => gauge(registry, name, help, read);
  add("process_resident_memory_bytes", "Resident memory in bytes.", () => process.memoryUsage.rss());
  add("nodejs_heap_size_total_bytes", "Size of the heap in bytes.", () => process.memoryUsage().heapTotal);
  add("nodejs_heap_size_used_bytes", "Used heap in bytes.", () => process.memoryUsage().heapUsed);
  add(
    "nodejs_external_memory_bytes",
    "Memory outside the heap in bytes.",
    () => process.memoryUsage().external,
  );
}

function heapSpaces(registry: Registry): void {
  const add = (
    what: string,
    size: (of: ReturnType<typeof getHeapSpaceStatistics>[number]) => number,
  ): void => {
    new Gauge({
      name: `nodejs_heap_space_size_${what}_bytes`,
      help: `Heap spaces, ${what}, in bytes.`,
      labelNames: ["space"],
      registers: [registry],
      collect() {
        for (const each of getHeapSpaceStatistics()) {
          this.set({ space: each.space_name.replace(/_space$/, "") }, size(each));
        }
      },
    });
  };
  add("total", (space) => space.space_size);
  add("used", (space) => space.space_used_size);
  add("available", (space) => space.space_available_size);
}

function resources(registry: Registry): void {
  new Gauge({
    name: "nodejs_active_resources",
    help: "What keeps the event loop alive, by type.",
    labelNames: ["type"],
    registers: [registry],
    collect() {
      this.reset();
      for (const type of process.getActiveResourcesInfo()) this.inc({ type });
    },
  });
  const [major = 0, minor = 0, patch = 0] = process.versions.node
    .split(".")
    .map((part) => Number.parseInt(part));
  new Gauge({
    name: "nodejs_version_info",
    help: "The version of Node.js; always 1.",
    labelNames: ["version", "major", "minor", "patch"],
    registers: [registry],
    collect() {
      this.set({ version: process.version, major, minor, patch }, 1);
    },
  });
}

function linux(registry: Registry): void {
  gauge(registry, "process_virtual_memory_bytes", "Virtual memory in bytes.", async () => {
    const line = /^VmSize:\s+(\d+) kB$/m.exec(await readProc("status"));
    return Number(line?.[1] ?? 0) * 1024;
  });
  gauge(registry, "process_open_fds", "Open file descriptors.", async () => {
    // One of the descriptors is the folder that readdir itself has open.
    return Math.max(0, (await readdir("/proc/self/fd").catch(() => [])).length - 1);
  });
  gauge(registry, "process_max_fds", "How many file descriptors may be open.", async () => {
    const line = /^Max open files\s+(\S+)/m.exec(await readProc("limits"));
    return line?.[1] === "unlimited" ? Infinity : Number(line?.[1] ?? 0);
  });
}

// A container may hide the file; the other metrics are still useful.
function readProc(name: string): Promise<string> {
  return readFile(`/proc/self/${name}`, "utf8").catch(() => "");
}

const GC_KINDS: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MAJOR]: "major",
  [constants.NODE_PERFORMANCE_GC_MINOR]: "minor",
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: "incremental",
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: "weakcb",
};

interface GcEntry extends PerformanceEntry {
  readonly detail?: { readonly kind?: number };
}

function garbageCollection(registry: Registry): () => void {
  const histogram = new Histogram({
    name: "nodejs_gc_duration_seconds",
    help: "How long garbage collections took, by kind, in seconds.",
    labelNames: ["kind"],
    buckets: [0.001, 0.01, 0.1, 1, 2, 5],
    registers: [registry],
  });
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries() as readonly GcEntry[]) {
      histogram.observe({ kind: GC_KINDS[entry.detail?.kind ?? -1] ?? "other" }, entry.duration / 1000);
    }
  });
  observer.observe({ entryTypes: ["gc"] });
  return () => observer.disconnect();
}
