import type { HrTime } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";

const KINDS = ["internal", "server", "client", "producer", "consumer"] as const;
const STATUSES = ["unset", "ok", "error"] as const;

/** A span that has ended, as `spans()`, `/debug/traces` and the exporter `console` show it. */
export interface RecordedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: (typeof KINDS)[number];
  /** ISO 8601 in UTC, with milliseconds. */
  readonly startedAt: string;
  readonly durationMs: number;
  readonly status: (typeof STATUSES)[number];
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly {
    readonly name: string;
    readonly attributes: Readonly<Record<string, unknown>>;
  }[];
  /** `service.name`, `service.version` and `deployment.environment.name` (TRACE-14). */
  readonly resource: Readonly<Record<string, unknown>>;
}

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
