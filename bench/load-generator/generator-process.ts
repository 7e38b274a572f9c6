// Runs a load generator that is a library of Node.js in its own process, and sends its measurements.
import { createRequire } from "node:module";
import { loadTest } from "@svc/load-test";
import type { Effort, Reading } from "./reading.ts";

/** The part of autocannon that this bench uses; autocannon does not publish types. */
type Autocannon = (options: {
  readonly url: string;
  readonly connections: number;
  readonly duration: number;
}) => Promise<{
  readonly requests: { readonly total: number };
  readonly duration: number;
  readonly errors: number;
  readonly non2xx: number;
  readonly latency: { readonly p50: number; readonly p99: number };
}>;

interface Run extends Omit<Reading, "cpuUs"> {
  readonly requests: number;
}

const runs: Readonly<Record<string, (effort: Effort) => Promise<Run>>> = { svc, autocannon };

async function svc({ url, clients, seconds, rate }: Effort): Promise<Run> {
  const options = { url, routes: ["/"], clients: [clients], warmUpSeconds: 0, seconds, rate };
  const { steps } = await loadTest(options);
  const [step] = steps;
  if (step === undefined || step.successes !== step.requests) throw new Error("svc: a request failed");
  const { p50, p95, p99 } = step.latencyUs;
  const latencies = { p50Ms: p50 / 1000, p95Ms: p95 / 1000, p99Ms: p99 / 1000 };
  return { requests: step.requests, requestsPerSecond: step.requestsPerSecond, ...latencies };
}

async function autocannon({ url, clients, seconds }: Effort): Promise<Run> {
  const run = createRequire(import.meta.url)("autocannon") as Autocannon;
  const { requests, duration, errors, non2xx, latency } = await run({
    url,
    connections: clients,
    duration: seconds,
  });
  if (errors + non2xx > 0) throw new Error("autocannon: a request failed");
  const { p50: p50Ms, p99: p99Ms } = latency;
  return { requests: requests.total, requestsPerSecond: requests.total / duration, p50Ms, p99Ms };
}

process.once("disconnect", () => process.exit());
process.on("message", ({ name, effort }: { readonly name: string; readonly effort: Effort }) => {
  const before = process.cpuUsage();
  runs[name]?.(effort).then(
    ({ requests, ...reading }) => {
      const { user, system } = process.cpuUsage(before);
      process.send?.({ ...reading, cpuUs: (user + system) / requests } satisfies Reading);
    },
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.send?.("ready");
