import type { CheckResult, ReadinessCheck } from "@svc/context";
import { withDeadline } from "@svc/resilience";
import type { CheckReport, CheckStatus } from "./report.ts";
import { classOf, codeOf, safeMember, safeText } from "./safe-text.ts";

/** Runs a check with a deadline, never twice at the same time. */
export interface Probe {
  readonly name: string;
  /** Never rejects. */
  run(): Promise<CheckReport>;
}

const MAX_META = 20;

/**
 * Creates the probe of a readiness check.
 * @param deadlineSeconds time after which the check counts as timed out and its signal aborts
 */
export function createProbe(declared: ReadinessCheck, deadlineSeconds: number): Probe {
  const { name } = declared;
  const critical = declared.critical;
  const timedOut = failure(
    "timeout",
    `health check did not answer within ${secondsText(deadlineSeconds)}`,
    critical,
  );
  let pending = false;

  async function ask(signal: AbortSignal): Promise<unknown> {
    pending = true;
    try {
      return await declared.check(signal);
    } finally {
      pending = false;
    }
  }

  return {
    name,
    async run() {
      // Do not run the check again: that would only add load to a dependency that hangs.
      if (pending) return timedOut;
      let late: AbortSignal | undefined;
      try {
        const result = await withDeadline(deadlineSeconds * 1000, (signal) => {
          late = signal;
          return ask(signal);
        });
        return reportOfResult(result, critical);
      } catch (thrown) {
        // Test the signal instead of the error's class: a check may throw its own DeadlineError.
        return late?.aborted === true ? timedOut : reportOfThrown(thrown, critical);
      }
    },
  };
}

function failure(status: CheckStatus, detail: string, critical: boolean): CheckReport {
  return { healthy: false, status, detail, critical };
}

// The contract writes 2 seconds as 2.0s.
function secondsText(seconds: number): string {
  return `${Number.isInteger(seconds) ? seconds.toFixed(1) : seconds}s`;
}

function reportOfThrown(thrown: unknown, critical: boolean): CheckReport {
  const report = failure("error", `health check raised: ${classOf(thrown)}`, critical);
  const code = codeOf(thrown);
  return code === undefined ? report : { ...report, meta: { code } };
}

function reportOfResult(result: unknown, declared: boolean): CheckReport {
  if (!isCheckResult(result)) return failure("error", "health check returned no valid result", declared);
  const { healthy, detail, critical = declared, meta } = result;
  const report = { healthy, status: healthy ? "ok" : "fail", detail: safeText(detail), critical } as const;
  const shown = meta === undefined ? undefined : safeMeta(meta);
  return shown === undefined ? report : { ...report, meta: shown };
}

function isCheckResult(value: unknown): value is CheckResult {
  if (typeof value !== "object" || value === null) return false;
  const { healthy, detail, critical, meta } = value as Partial<Record<keyof CheckResult, unknown>>;
  return (
    typeof healthy === "boolean" &&
    typeof detail === "string" &&
    (critical === undefined || typeof critical === "boolean") &&
    (meta === undefined || (typeof meta === "object" && meta !== null))
  );
}

/** Keeps only numbers, booleans, nulls and short strings, because nested values are not meant for health probes. */
function safeMeta(meta: Readonly<Record<string, unknown>>): CheckReport["meta"] {
  const kept = Object.entries(meta)
    .filter(([, value]) => ["string", "number", "boolean"].includes(typeof value) || value === null)
    .slice(0, MAX_META)
    .map(([key, value]) => [safeText(key), safeMember(key, value)] as const);
  if (kept.length === 0) return undefined;
  return Object.fromEntries(kept) as NonNullable<CheckReport["meta"]>;
}
