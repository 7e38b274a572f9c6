import type { TraceContext } from "@svc/context";
import type { TraceCarrier } from "./job.ts";

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const MAX_TRACESTATE = 512;

/** What is kept of a trace context. */
export function carrierOf(trace: TraceContext | undefined): TraceCarrier | undefined {
  if (trace === undefined) return undefined;
  const { traceparent, tracestate } = trace;
  return tracestate === undefined ? { traceparent } : { traceparent, tracestate };
}

/** What a row says of its trace, whoever wrote it; undefined where that is no valid carrier. */
export function storedCarrier(value: unknown): TraceCarrier | undefined {
  if (!isCarrier(value)) return undefined;
  const { traceparent, tracestate } = value;
  return typeof tracestate === "string" ? { traceparent, tracestate } : { traceparent };
}

/** Whether something is a carrier with a valid `traceparent`. */
export function isCarrier(value: unknown): value is TraceCarrier {
  if (typeof value !== "object" || value === null) return false;
  const { traceparent, tracestate } = value as Record<string, unknown>;
  return (
    typeof traceparent === "string" &&
    TRACEPARENT.test(traceparent) &&
    (tracestate === undefined || tracestate === null || typeof tracestate === "string")
  );
}

/** The trace context that a job was queued in; undefined where the column holds no valid one, whoever wrote it. */
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
