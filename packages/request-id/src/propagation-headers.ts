import { currentContext, type RequestContext } from "@svc/context";

/**
 * Returns the headers that an outbound call carries for the current request or job: `X-Request-ID`, `traceparent` and
 * `tracestate`, each if known (COR-5, COR-13, COR-15). Never includes the tenant or `Authorization`. Does not mint an id:
 * without a context the result is `{}`.
 *
 * @param context default: the current context; pass `contextOf(req)` where the current context may be lost
 * @returns a new plain object
 */
export function propagationHeaders(
  context: RequestContext | undefined = currentContext(),
): Record<string, string> {
  const headers: Record<string, string> = {};
  if (context === undefined) return headers;
  if (context.requestId !== "") headers["X-Request-ID"] = context.requestId;
  const { trace } = context;
  if (trace === undefined) return headers;
  headers["traceparent"] = trace.traceparent;
  if (trace.tracestate !== undefined) headers["tracestate"] = trace.tracestate;
  return headers;
}
