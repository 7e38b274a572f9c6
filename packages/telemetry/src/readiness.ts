import type { CheckResult, ReadinessCheck } from "@svc/context";

/** Numbers for `/ready` (TRACE-23). */
export interface ExportCounts {
  readonly exported: number;
  readonly failedBatches: number;
  /** Number of lost spans: the oldest spans of a full queue, and the spans of failed batches. */
  readonly dropped: number;
  /** Whether the last batch failed. */
  readonly failing: boolean;
}

/** The numbers before anything was exported. */
export const noCounts: ExportCounts = { exported: 0, failedBatches: 0, dropped: 0, failing: false };

/** The state of tracing that `/ready` shows. */
export interface ExportState {
  /** Destination of the spans; undefined while no span is exported. */
  readonly target: string | undefined;
  readonly counts: ExportCounts;
  /** Number of attributes that were dropped because they must not be recorded. */
  readonly attributesDropped: number;
  /** Number of failures of tracing itself. */
  readonly failures: number;
}

/** Returns the check of `/ready`, which is never critical (RDY-17, TRACE-23). */
export function telemetryCheck(stateOf: () => ExportState): ReadinessCheck {
  return { name: "telemetry", critical: false, check: () => resultOf(stateOf()) };
}

function resultOf({ target, counts, attributesDropped, failures }: ExportState): CheckResult {
  if (target === undefined) return { healthy: true, detail: "not exporting: set SVC_TELEMETRY_ENDPOINT" };
  const { exported, failedBatches, dropped, failing } = counts;
  return {
    healthy: !failing,
    detail: failing
      ? "span export failing; spans are being dropped"
      : `exporting to ${target}: ${exported} span(s) exported, ${failedBatches} batch(es) failed`,
    meta: {
      spans_exported: exported,
      batches_failed: failedBatches,
      spans_dropped: dropped,
      attributes_dropped: attributesDropped,
      failures,
    },
  };
}
