import { safeLogger } from "@svc/resilience";
import type { HrTime } from "@opentelemetry/api";
import type { ReadableSpan, SpanProcessor } from "@opentelemetry/sdk-trace";
import type { TelemetryLogger } from "./options.ts";
import type { RecordedSpan } from "./recorded-span.ts";
import { type ExportCounts, noCounts } from "./readiness.ts";

const MAX_KEPT = 1000;
const KINDS = ["internal", "server", "client", "producer", "consumer"] as const;
const STATUSES = ["unset", "ok", "error"] as const;

/** A span processor that needs no collector. */
export interface LocalExporter extends SpanProcessor {
  readonly counts: ExportCounts;
  /** The stored spans, oldest first; empty for the exporter `console`. */
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
export function consoleExporter(logger: TelemetryLogger | undefined): LocalExporter {
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

const withoutQueue = {
  onStart: () => undefined,
  forceFlush: async () => undefined,
  shutdown: async () => undefined,
};

export function recordedSpan(span: ReadableSpan): RecordedSpan {
  const { traceId, spanId } = span.spanContext();
  return {
    traceId,
    spanId,
    parentSpanId: span.parentSpanContext?.spanId,
    name: span.name,
    kind: KINDS[span.kind] ?? "internal",
    startedAt: new Date(millisecondsOf(span.startTime)).toISOString(),
    durationMs: Math.round(millisecondsOf(span.duration) * 1000) / 1000,
    status: STATUSES[span.status.code] ?? "unset",
    attributes: { ...span.attributes },
    events: span.events.map(({ name, attributes = {} }) => ({ name, attributes: { ...attributes } })),
    resource: { ...span.resource.attributes },
  };
}

function millisecondsOf([seconds, nanoseconds]: HrTime): number {
  return seconds * 1000 + nanoseconds / 1e6;
}
