import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { keepAliveAgent, send } from "./harness/client.ts";
import { asBuilt, type Experiment } from "./harness/experiment.ts";
import { startService } from "./harness/service-process.ts";
import type { SoakedSettings } from "./services/soaked.ts";

const clients = 8;
const fewestSamples = 3;
/**
 * Minimum number of requests between two samples: enough to show a variant's leak, even if a busy machine handles few
 * requests per second.
 */
const fewestRequests = 600;
/**
 * The number of requests between two samples in a short run of a variant. In `broken-labels`, every request adds a metric
 * series; in `broken-cache`, this number of requests causes three times the permitted growth.
 */
const fewestOf: Readonly<Record<string, number>> = { "broken-labels": 100, "broken-cache": 600 };
const mib = 1024 * 1024;
/** Maximum slope over the second half of a run, by least squares. */
const mostSlopeMiBIn10Min = 1;
/** Maximum growth from the middle of a run to its end. Compiled code alone accounts for part of it. */
const mostGrowthMiB = 8;

interface Sample {
  readonly seconds: number;
  readonly requests: number;
  readonly bytes: number;
  readonly series: number;
}

/** Sends requests that all differ, and measures how much memory the service retains. */
export const memorySoak: Experiment = {
  name: "memory-soak",
  description:
    "unique ids, paths, traces and queries for --seconds (600): heap and metric series do not grow",
  brokenVariants: ["broken-cache", "broken-labels"],
  async run(run, report) {
    const settings: SoakedSettings = { variant: run.variant };
    await using service = await startService("soaked.ts", settings, {
      execArgv: ["--expose-gc"],
    });
    const seconds = run.seconds ?? (run.quick ? 4 : 600);
    const everySeconds = Math.max(1, seconds / 60);
    const agent = keepAliveAgent(clients);
    const samples: Sample[] = [];
    const started = performance.now();
    const elapsed = (): number => (performance.now() - started) / 1000;
    let requests = 0;
    let unexpected = 0;
    // A short run of a variant sends only the number of requests that shows its fault.
    const isEnough = run.quick && run.variant !== asBuilt;
    const ofSample = (isEnough ? fewestOf[run.variant] : undefined) ?? fewestRequests;
    const soakUntil = async (end: number, fewest: number): Promise<void> => {
      while ((elapsed() < end && !isEnough) || requests < fewest) {
        const { path, method, headers, body, status } = uniqueRequest(requests++);
        const outcome = await send(service.port, path, { method, headers, parts: body, agent });
        if (outcome.status !== status) unexpected += 1;
      }
    };
    while (elapsed() < seconds || samples.length < fewestSamples) {
      const [end, fewest] = [elapsed() + everySeconds, requests + ofSample];
      await Promise.all(Array.from({ length: clients }, () => soakUntil(end, fewest)));
      if (isEnough) await delay(Math.max(0, end - elapsed()) * 1000);
      const [bytes, series] = [await service.ask<number>("memory"), await service.ask<number>("series")];
      samples.push({ seconds: elapsed(), requests, bytes, series });
      (service.lines as string[]).length = 0;
    }
    agent.destroy();

    // The first half is the warm-up: code is compiled and tables reach their size.
    const settled = samples.slice(Math.floor(samples.length / 2));
    const [first, last] = [settled[0], settled.at(-1)];
    if (first === undefined || last === undefined) throw new Error("no sample was taken");
    const growth = (last.bytes - first.bytes) / mib;
    const slope = slopeOf(settled.map((each) => [each.seconds / 600, each.bytes / mib]));
    report.figure("soak", "seconds", last.seconds, "s");
    report.figure("soak", "requests", requests, "count");
    report.figure("soak", "answers of another status", unexpected, "count");
    report.figure("soak", "memory at half time", first.bytes / mib, "MiB");
    report.figure("soak", "memory at the end", last.bytes / mib, "MiB");
    report.figure("soak", "growth", growth, "MiB");
    report.figure("soak", "slope", slope, "MiB in 10 min");
    report.figure("soak", "metric series at half time", first.series, "count");
    report.figure("soak", "metric series at the end", last.series, "count");
    report.rule(unexpected === 0, "every response has the expected status");
    report.rule(growth < mostGrowthMiB, `memory grows by less than ${mostGrowthMiB} MiB in the second half`);
    if (last.seconds >= 300)
      report.rule(
        slope < mostSlopeMiBIn10Min,
        `memory grows by less than ${mostSlopeMiBIn10Min} MiB in 10 min`,
      );
    report.rule(last.series === first.series, "no metric series is added");
  },
};

interface Unique {
  readonly path: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: AsyncIterable<Uint8Array> | undefined;
  /** The expected response status. */
  readonly status: number;
}

function uniqueRequest(count: number): Unique {
  const unique = randomBytes(16).toString("hex");
  const headers = {
    Host: `${unique}.example`,
    "User-Agent": unique,
    "X-Request-ID": unique,
    traceparent: `00-${unique}-${unique.slice(0, 16)}-01`,
    tracestate: `a${unique.slice(0, 8)}=${unique}`,
    Cookie: `session=${unique}`,
  };
  switch (count % 4) {
    case 0:
      return { path: `/things/${unique}?q=${unique}`, method: "GET", headers, status: 200 };
    case 1:
      return { path: `/${unique}/${unique}`, method: "GET", headers, status: 404 };
    case 2:
      return { path: `/things/${unique}`, method: "DELETE", headers, status: 405 };
    default: {
      const typed = { ...headers, "Content-Type": "application/json" };
      return {
        path: "/things",
        method: "POST",
        headers: typed,
        body: json({ [unique]: unique }),
        status: 201,
      };
    }
  }
}

async function* json(value: unknown): AsyncIterable<Uint8Array> {
  yield await Promise.resolve(Buffer.from(JSON.stringify(value)));
}

/** Returns the slope of the least-squares line through the points. */
function slopeOf(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (index: 0 | 1): number => points.reduce((sum, point) => sum + point[index], 0) / points.length;
  const [meanX, meanY] = [mean(0), mean(1)];
  const covariance = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  return covariance / points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
}
