import { readdir, readFile } from "node:fs/promises";
import { constants, type PerformanceEntry, PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics } from "node:v8";
import type { Registry } from "prom-client";
import Counter from "prom-client/lib/counter.js";
import Gauge from "prom-client/lib/gauge.js";
import Histogram from "prom-client/lib/histogram.js";

/**
 * Registers the metrics of the process (MET-7), under the names of prom-client's default metrics, except for its gauges with
 * the suffix `_total`, which promtool rejects. This replaces prom-client's own collector, which cannot be stopped, reads
 * `/proc` synchronously and keeps a second event-loop monitor running.
 *
 * @returns a function that stops the garbage-collection observer
 */
export function registerProcessMetrics(registry: Registry): () => void {
  cpu(registry);
  const startedAt = Math.round(Date.now() / 1000 - process.uptime());
  gauges(registry, {
    process_start_time_seconds: [
      "Start time of the process in seconds since the Unix epoch.",
      () => startedAt,
    ],
    process_resident_memory_bytes: ["Resident memory in bytes.", () => process.memoryUsage.rss()],
    nodejs_heap_size_total_bytes: ["Size of the heap in bytes.", () => process.memoryUsage().heapTotal],
    nodejs_heap_size_used_bytes: ["Used heap in bytes.", () => process.memoryUsage().heapUsed],
    nodejs_external_memory_bytes: ["Memory outside the heap in bytes.", () => process.memoryUsage().external],
  });
  heapSpaces(registry);
  resources(registry);
  version(registry);
  if (process.platform === "linux") {
    gauges(registry, {
      process_virtual_memory_bytes: ["Virtual memory in bytes.", virtualMemory],
      process_open_fds: ["Open file descriptors.", openDescriptors],
      process_max_fds: ["Maximum number of open file descriptors.", maxDescriptors],
    });
  }
  return garbageCollection(registry);
}

type Gauges = Readonly<Record<string, readonly [help: string, read: () => number | Promise<number>]>>;

function gauges(registry: Registry, table: Gauges): void {
  for (const [name, [help, read]] of Object.entries(table)) {
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        this.set(await read());
      },
    });
  }
}

function cpu(registry: Registry): void {
  const counters = [
    ["user_", "User", ({ user }) => user],
    ["system_", "System", ({ system }) => system],
    ["", "User and system", ({ user, system }) => user + system],
  ] satisfies [string, string, (usage: NodeJS.CpuUsage) => number][];
  for (const [part, title, microseconds] of counters) {
    new Counter({
      name: `process_cpu_${part}seconds_total`,
      help: `${title} CPU time in seconds.`,
      registers: [registry],
      collect() {
        this.reset();
        this.inc(microseconds(process.cpuUsage()) / 1e6);
      },
    });
  }
}

function heapSpaces(registry: Registry): void {
  const sizes = { total: "space_size", used: "space_used_size", available: "space_available_size" } as const;
  for (const [what, member] of Object.entries(sizes)) {
    new Gauge({
      name: `nodejs_heap_space_size_${what}_bytes`,
      help: `Size of each heap space (${what}), in bytes.`,
      labelNames: ["space"],
      registers: [registry],
      collect() {
        for (const each of getHeapSpaceStatistics()) {
          this.set({ space: each.space_name.replace(/_space$/, "") }, each[member]);
        }
      },
    });
  }
}

function resources(registry: Registry): void {
  new Gauge({
    name: "nodejs_active_resources",
    help: "Resources that keep the event loop alive, by type.",
    labelNames: ["type"],
    registers: [registry],
    collect() {
      this.reset();
      for (const type of process.getActiveResourcesInfo()) this.inc({ type });
    },
  });
}

function version(registry: Registry): void {
  const [major = 0, minor = 0, patch = 0] = process.versions.node.split(".").map(Number.parseFloat);
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

async function virtualMemory(): Promise<number> {
  const line = /^VmSize:\s+(\d+) kB$/m.exec(await readProc("status"));
  return Number(line?.[1] ?? 0) * 1024;
}

async function openDescriptors(): Promise<number> {
  // Exclude the descriptor that readdir itself has open.
  return Math.max(0, (await readdir("/proc/self/fd").catch(() => [])).length - 1);
}

async function maxDescriptors(): Promise<number> {
  const line = /^Max open files\s+(\S+)/m.exec(await readProc("limits"));
  return line?.[1] === "unlimited" ? Infinity : Number(line?.[1] ?? 0);
}

// Returns an empty string for a file that a container hides, because the other metrics are still useful.
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
    help: "Duration of garbage collections, by kind, in seconds.",
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
