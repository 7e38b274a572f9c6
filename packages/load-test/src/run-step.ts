import { generate } from "./generate.ts";
import type { LoadTestOptions, Settings } from "./options.ts";
import type { PlannedRequest } from "./plan.ts";
import { readReadiness } from "./readiness.ts";
import type { Errors, StepReport } from "./report.ts";
import { latencyOf, type Tally } from "./tally.ts";
import { reasonsOf } from "./verdict.ts";

/** Runs one step: the load, then `/ready` (LOAD-5), then the verdict (LOAD-3). */
export async function runStep(
  clients: number,
  requests: readonly PlannedRequest[],
  settings: Settings,
  { onProgress, signal }: Pick<LoadTestOptions, "onProgress" | "signal">,
): Promise<StepReport> {
  const report = (seconds: number, answers: number): void =>
    onProgress?.({ clients, seconds, requestsPerSecond: seconds > 0 ? answers / seconds : 0 });
  const { tally, seconds, cpu } = await generate(clients, requests, settings, report, signal);
  const isInterrupted = signal?.aborted === true;
  const counts = countsOf(tally);
  const latencyUs = latencyOf(tally);
  const isUnmeasured = isInterrupted && counts.requests === 0;
  return {
    clients,
    loop: settings.rate === undefined ? "closed" : "open",
    seconds,
    ...counts,
    requestsPerSecond: seconds === 0 ? 0 : tally.answers / seconds,
    latencyUs,
    unsent: tally.unsent,
    generatorCpu: cpu,
    readiness: isInterrupted ? null : await readReadiness(settings),
    broken: isUnmeasured ? [] : reasonsOf({ ...counts, latencyUs }, settings),
    isInterrupted,
  };
}

type Counts = Pick<StepReport, "requests" | "statuses" | "successes" | "others" | "errors" | "errorRate">;

/** Returns the results of a step: errors are 5xx, 429 and transport failures (LOAD-6). */
function countsOf({ statuses: counted, failures }: Tally): Counts {
  const statuses = Object.fromEntries([...counted.entries()].filter(([, count]) => count > 0));
  const sum = (from: number, to: number): number =>
    counted.slice(from, to).reduce((all, each) => all + each, 0);
  const errors: Errors = { serverErrors: sum(500, 600), tooManyRequests: counted[429] ?? 0, ...failures };
  const successes = sum(200, 300);
  const answers = sum(0, 1000);
  const requests = answers + Object.values(failures).reduce((all, each) => all + each, 0);
  const failed = Object.values(errors).reduce((all, each) => all + each, 0);
  return {
    requests,
    statuses,
    successes,
    others: answers - successes,
    errors,
    errorRate: requests === 0 ? 0 : (failed / requests) * 100,
  };
}
