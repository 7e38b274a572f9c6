import type { Context, SpanContext, TraceState } from "@opentelemetry/api";
import type { TraceContext } from "@svc/context";
import type { OpenTelemetry } from "./packages.ts";

const SAMPLED = 1;
const RANDOM = 2;

/** Returns a context of OpenTelemetry whose parent span is the one in a valid trace context (TRACE-18). */
export function continueTrace(api: OpenTelemetry["api"], base: Context, trace: TraceContext): Context {
  const { traceId, traceparent, tracestate } = trace;
  const caller = {
    traceId,
    spanId: traceparent.slice(36, 52),
    traceFlags: flagsOf(traceparent),
    isRemote: true,
  };
  const traceState = tracestate === undefined ? undefined : unchanged(api, tracestate);
  return api.trace.setSpanContext(base, traceState === undefined ? caller : { ...caller, traceState });
}

/** Returns the trace context of a span, with the flag "random" of its parent (W3C Trace Context, level 2). */
export function traceOf(
  { traceId, spanId, traceFlags, traceState }: SpanContext,
  parent: TraceContext | undefined,
): TraceContext {
  const random = parent === undefined ? 0 : flagsOf(parent.traceparent) & RANDOM;
  return {
    traceId,
    traceparent: `00-${traceId}-${spanId}-0${(traceFlags & SAMPLED) | random}`,
    tracestate: traceState?.serialize(),
  };
}

function flagsOf(traceparent: string): number {
  return Number.parseInt(traceparent.slice(53), 16);
}

/**
 * Returns a trace state that is sent on exactly as it was received; the API's own trace state drops and reorders members.
 */
function unchanged(api: OpenTelemetry["api"], text: string): TraceState {
  return {
    get: (key) => api.createTraceState(text).get(key),
    set: (key, value) => api.createTraceState(text).set(key, value),
    unset: (key) => api.createTraceState(text).unset(key),
    serialize: () => text,
  };
}
