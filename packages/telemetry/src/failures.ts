import { atMostEvery, safeLogger } from "@svc/resilience";
import type { ResolvedTelemetry } from "./options.ts";

const WARN_EVERY_MS = 10_000;

/** Failures of tracing itself, which never reach the traced operation (TRACE-21). */
export interface Failures {
  readonly count: number;
  /** Counts a failure, and logs a warning at most every ten seconds. Never throws. */
  readonly report: (error: unknown) => void;
}

export function createFailures({ logger, now }: Pick<ResolvedTelemetry, "logger" | "now">): Failures {
  const log = safeLogger(logger);
  let count = 0;
  const warn = atMostEvery(
    WARN_EVERY_MS,
    (suppressed, error: unknown) =>
      log?.warn({ err: error, suppressed }, "tracing failed; the request continues"),
    { now: safely(now) },
  );
  return {
    get count() {
      return count;
    },
    report(error) {
      count += 1;
      warn(error);
    },
  };
}

/** Returns a clock that reads 0 when the application's clock throws. */
function safely(now: () => number): () => number {
  return () => {
    try {
      return now();
    } catch {
      return 0;
    }
  };
}
