import type { Logger } from "@svc/context";
import { safeLogger } from "@svc/resilience";
import type { ReadableSpan, SpanProcessor } from "@opentelemetry/sdk-trace";
import { recordedSpan, type RecordedSpan } from "./recorded-span.ts";
import type { ExportCounts } from "./span-queue.ts";

const MAX_KEPT = 1000;

/** A span processor without a collector. */
export interface LocalExporter extends SpanProcessor {
  readonly counts: ExportCounts;
  /** The kept spans, oldest first; empty for the exporter `console`. */
  spans(): readonly RecordedSpan[];
}

/** Keeps the last 1,000 spans in memory. */
export function memoryExporter(): LocalExporter {
  let exported = 0;
  const kept: (ReadableSpan | undefined)[] = [];
  return {
    ...withoutQueue,
    get counts() {
      return { ...noCounts, exported };
    },
    onEnd(span) {
      kept[exported % MAX_KEPT] = span;
      exported += 1;
    },
    spans() {
      const oldest = exported > MAX_KEPT ? exported % MAX_KEPT : 0;
      return [...kept.slice(oldest), ...kept.slice(0, oldest)].flatMap((span) =>
        span === undefined ? [] : [recordedSpan(span)],
      );
    },
  };
}

/** Writes each span as a log line at the level INFO. */
export function consoleExporter(logger: Logger | undefined): LocalExporter {
  const log = safeLogger(logger);
  let exported = 0;
  return {
    ...withoutQueue,
    get counts() {
      return { ...noCounts, exported };
    },
    onEnd(span) {
      exported += 1;
      log?.info({ span: recordedSpan(span) }, "span");
    },
    spans: () => [],
  };
}

const noCounts: ExportCounts = { exported: 0, failedBatches: 0, dropped: 0, failing: false };

const withoutQueue = {
  onStart: () => undefined,
  forceFlush: async () => undefined,
  shutdown: async () => undefined,
};
