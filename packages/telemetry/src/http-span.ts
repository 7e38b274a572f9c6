import type { Context, Span } from "@opentelemetry/api";
import type { OpenTelemetry } from "./packages.ts";

/** Name of the context key under which OpenTelemetry's HTTP instrumentation stores its server span, for web frameworks. */
const HTTP_SPAN_KEY = "OpenTelemetry SDK Context Key RPC_METADATA";

/**
 * Returns a function that returns the open server span of OpenTelemetry's HTTP instrumentation. The active span may be a
 * different one: that of a middleware of the web framework, which ends earlier.
 */
export function httpSpanReader(api: OpenTelemetry["api"]): (active: Context) => Span | undefined {
  const key = api.createContextKey(HTTP_SPAN_KEY);
  return (active) => {
    const span = (active.getValue(key) as { readonly span?: Span } | undefined)?.span;
    return span?.isRecording() === true ? span : undefined;
  };
}
