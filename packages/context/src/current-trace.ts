import { activeSpanTrace, hasOpenTelemetry } from "./active-span.ts";
import { currentContext, type RequestContext } from "./request-context.ts";
import type { TraceContext } from "./types.ts";

/**
 * Returns the trace for log records, outbound calls, jobs and events: the trace of the innermost open server or consumer
 * span of this service, else of OpenTelemetry's active span, else the caller's trace (COR-12, COR-13).
 *
 * @param context default: the current context; pass `contextOf(req)` where the current context may be lost
 */
export function currentTrace(
  context: RequestContext | undefined = currentContext(),
): TraceContext | undefined {
  if (!hasOpenTelemetry()) return context?.trace;
  return context?.openTrace ?? spanTraceOf(context) ?? context?.trace;
}

function spanTraceOf(context: RequestContext | undefined): TraceContext | undefined {
  if (context === undefined) return activeSpanTrace();
  const current = currentContext();
  if (current === context) return activeSpanTrace() ?? context.enteredTrace;
  // If another context is current, for example in a queue that requests share, the active span belongs to that request.
  return context.enteredTrace ?? (current === undefined ? activeSpanTrace() : undefined);
}
