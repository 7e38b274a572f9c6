import type { Settings } from "./options.ts";
import type { StepReport } from "./report.ts";

/** Returns why a step broke (LOAD-3); empty if it did not. */
export function reasonsOf(
  { requests, latencyUs, errorRate }: Pick<StepReport, "requests" | "latencyUs" | "errorRate">,
  { maxP99Ms, maxErrorRate }: Pick<Settings, "maxP99Ms" | "maxErrorRate">,
): readonly string[] {
  if (requests === 0) return ["no request ended"];
  const p99Ms = latencyUs.p99 / 1000;
  return [
    ...(p99Ms > maxP99Ms ? [`p99 of ${p99Ms.toFixed(1)} ms is over ${maxP99Ms} ms`] : []),
    ...(errorRate > maxErrorRate ? [`${errorRate.toFixed(2)} % of errors is over ${maxErrorRate} %`] : []),
  ];
}

/**
 * Returns the clients of the step after which more clients added less than 10 % throughput (LOAD-4); null if no step
 * did. A fixed rate limits the throughput itself, so an open loop shows no saturation.
 */
export function saturationOf(
  steps: readonly Pick<StepReport, "clients" | "requestsPerSecond" | "loop" | "isInterrupted">[],
): number | null {
  const complete = steps.filter(({ isInterrupted, loop }) => !isInterrupted && loop === "closed");
  const saturated = complete.find((step, at) => {
    const next = complete[at + 1];
    if (next === undefined || next.clients <= step.clients) return false;
    // Compare with whole factors, because 100 * 1.1 is more than 110.
    return next.requestsPerSecond * 10 < step.requestsPerSecond * 11;
  });
  return saturated?.clients ?? null;
}

/** Returns the clients of the first step that broke; null if none did. */
export function breakOf(steps: readonly Pick<StepReport, "clients" | "broken">[]): number | null {
  return steps.find(({ broken }) => broken.length > 0)?.clients ?? null;
}
