import { readDescription, type Description } from "./description.ts";
import { LoadTestError } from "./errors.ts";
import { type LoadTestOptions, resolveOptions, type Settings } from "./options.ts";
import { needsNoDescription, type Plan, planRun } from "./plan.ts";
import type { LoadReport, StepReport } from "./report.ts";
import { runStep } from "./run-step.ts";
import { breakOf, saturationOf } from "./verdict.ts";

/**
 * Loads a service step by step with more and more clients.
 *
 * @throws LoadTestError if an option is invalid, the service or its description cannot be read, or no route can be loaded
 */
export async function loadTest(options: LoadTestOptions): Promise<LoadReport> {
  const settings = resolveOptions(options);
  return runSteps(settings, await prepare(settings, options.signal), options);
}

/** A run whose routes are known. */
export interface Prepared extends Plan {
  readonly withoutDescription: string | null;
}

/** Reads the description and chooses the routes. */
export async function prepare(settings: Settings, signal?: AbortSignal): Promise<Prepared> {
  let description: Description | undefined;
  let withoutDescription: string | null = null;
  try {
    description = await readDescription(settings, signal);
  } catch (error) {
    if (!(error instanceof LoadTestError) || error.code !== "ERR_SVC_LOAD_TEST_DESCRIPTION") throw error;
    if (!needsNoDescription(settings)) throw error;
    withoutDescription = error.message.replace(/; give --route.*$/, "");
  }
  return { ...planRun(description, settings), withoutDescription };
}

/** Runs the steps of a prepared run. */
export async function runSteps(
  settings: Settings,
  { requests, skipped, withoutDescription }: Prepared,
  { onProgress, onStep, signal }: Pick<LoadTestOptions, "onProgress" | "onStep" | "signal">,
): Promise<LoadReport> {
  const startedAt = new Date().toISOString();
  const steps: StepReport[] = [];
  for (const clients of settings.clients) {
    if (signal?.aborted === true) break;
    const step = await runStep(clients, requests, settings, { onProgress, signal });
    steps.push(step);
    onStep?.(step);
  }
  return {
    url: settings.origin + settings.prefix,
    startedAt,
    loop: settings.rate === undefined ? "closed" : "open",
    rate: settings.rate ?? null,
    secondsPerStep: settings.seconds,
    warmUpSeconds: settings.warmUpSeconds,
    timeoutSeconds: settings.timeoutSeconds,
    maxP99Ms: settings.maxP99Ms,
    maxErrorRate: settings.maxErrorRate,
    routes: requests.map(({ route }) => route),
    skipped,
    withoutDescription,
    steps,
    saturatedAt: saturationOf(steps),
    brokeAt: breakOf(steps),
    isInterrupted: signal?.aborted === true,
  };
}
