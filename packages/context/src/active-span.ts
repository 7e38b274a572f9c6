import { parseTraceparent } from "./trace-context.ts";
import type { TraceContext } from "./types.ts";

// `@opentelemetry/api` defines both symbols for all of its 1.x versions, so this package needs no dependency on it.
const API: unique symbol = Symbol.for("opentelemetry.js.api.1") as never;
const SPAN_KEY = Symbol.for("OpenTelemetry Context Key SPAN");

interface WithApi {
  readonly [API]?: OpenTelemetryApi;
}
interface OpenTelemetryApi {
  readonly context?: { active(): { getValue(key: symbol): OpenTelemetrySpan | undefined } };
}
interface OpenTelemetrySpan {
  spanContext(): SpanContext;
}
interface SpanContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
  readonly traceState?: { serialize(): string } | undefined;
}

/** Returns whether a part of OpenTelemetry, such as its SDK, has been registered in this process. */
export function hasOpenTelemetry(): boolean {
  return (globalThis as WithApi)[API] !== undefined;
}

/**
 * Returns the trace context of OpenTelemetry's active span; undefined without OpenTelemetry, without an active span, and
 * for a span whose ids or flags are invalid. Never throws.
 */
export function activeSpanTrace(): TraceContext | undefined {
  const api = (globalThis as WithApi)[API];
  if (api === undefined) return undefined;
  try {
    const span = api.context?.active().getValue(SPAN_KEY);
    return span === undefined ? undefined : traceOf(span.spanContext());
  } catch {
    // A faulty context manager or span must not fail the code that logs or sends a request.
    return undefined;
  }
}

function traceOf({ traceId, spanId, traceFlags, traceState }: SpanContext): TraceContext | undefined {
  // The parser rejects numbers that are not two hex digits.
  const flags = traceFlags.toString(16).padStart(2, "0");
  return parseTraceparent(`00-${traceId}-${spanId}-${flags}`, traceState?.serialize());
}
