import type { Middleware } from "@svc/context";
import { compose } from "@svc/plugin";
import { sendJson } from "@svc/problem";
import type { RecordedSpan } from "./recorded-span.ts";

/** Spans of one trace. */
interface Trace {
  readonly traceId: string;
  readonly spans: RecordedSpan[];
}

/**
 * Returns a handler that responds with the stored spans, grouped by trace; the trace with the newest span comes first.
 *
 * @param guard middleware that runs before the handler; undefined for none
 */
export function debugTraces(spans: () => readonly RecordedSpan[], guard: Middleware | undefined): Middleware {
  const show: Middleware = (req, res) => sendJson(req, res, 200, { traces: byTrace(spans()) });
  return guard === undefined ? show : compose([guard, show]);
}

function byTrace(spans: readonly RecordedSpan[]): readonly Trace[] {
  const traces = new Map<string, Trace>();
  for (const span of spans) {
    const trace = traces.get(span.traceId) ?? { traceId: span.traceId, spans: [] };
    // Insert again, so that the trace with the newest span is last.
    traces.delete(span.traceId);
    traces.set(span.traceId, trace);
    trace.spans.push(span);
  }
  return [...traces.values()].toReversed();
}
