import type { TraceContext } from "@svc/context";
import type { TraceCarrier } from "./job.ts";

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const MAX_TRACESTATE = 512;

export function carrierOf(trace: TraceContext | undefined): TraceCarrier | undefined {
  if (trace === undefined) return undefined;
  const { traceparent, tracestate } = trace;
  return tracestate === undefined ? { traceparent } : { traceparent, tracestate };
}

/** Returns the carrier stored in a row; undefined if it is invalid. */
export function storedCarrier(value: unknown): TraceCarrier | undefined {
  if (!isCarrier(value)) return undefined;
  const { traceparent, tracestate } = value;
  return typeof tracestate === "string" ? { traceparent, tracestate } : { traceparent };
}

/** Returns whether a value is a carrier with a valid `traceparent`. */
export function isCarrier(value: unknown): value is TraceCarrier {
  if (typeof value !== "object" || value === null) return false;
  const { traceparent, tracestate } = value as Record<string, unknown>;
  return (
    typeof traceparent === "string" &&
    TRACEPARENT.test(traceparent) &&
    (tracestate === undefined || tracestate === null || typeof tracestate === "string")
  );
}

/** Returns the trace context in which a job was queued; undefined if its carrier is invalid. */
export function traceContextOf(carrier: unknown): TraceContext | undefined {
  if (!isCarrier(carrier)) return undefined;
  const { traceparent, tracestate } = carrier;
  const state = tracestate ?? undefined;
  return {
    traceId: traceparent.slice(3, 35),
    traceparent,
    tracestate:
      state !== undefined && state !== "" && state.length <= MAX_TRACESTATE && /^[ -~\t]+$/.test(state)
        ? state
        : undefined,
  };
}
