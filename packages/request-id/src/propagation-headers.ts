import {
  currentContext,
  currentTrace,
  hasOpenTelemetry,
  type RequestContext,
  type TraceContext,
} from "@svc/context";
import { keepOneTraceparent } from "./one-traceparent.ts";

/**
 * Returns the headers that an outbound call carries for the current request or job: `X-Request-ID`, and `traceparent` and
 * `tracestate` of the current trace, each if known (COR-5, COR-13, COR-15). Never includes the tenant or `Authorization`.
 * Does not mint an id: without a context and an active span the result is `{}`.
 *
 * If OpenTelemetry instruments `fetch`, its `traceparent` replaces this one in the request.
 *
 * @param context default: the current context; pass `contextOf(req)` where the current context may be lost
 * @param trace the trace of the call's own span. Default: `currentTrace(context)`
 * @returns a new plain object
 */
export function propagationHeaders(
  context: RequestContext | undefined = currentContext(),
  trace: TraceContext | undefined = currentTrace(context),
): Record<string, string> {
  const headers: Record<string, string> = {};
  if (context !== undefined && context.requestId !== "") headers["X-Request-ID"] = context.requestId;
  if (trace === undefined) return headers;
  headers["traceparent"] = trace.traceparent;
  if (trace.tracestate !== undefined) headers["tracestate"] = trace.tracestate;
  if (hasOpenTelemetry()) keepOneTraceparent();
  return headers;
}
