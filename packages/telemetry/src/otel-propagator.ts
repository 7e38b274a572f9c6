import type { TextMapPropagator } from "@opentelemetry/api";
import { currentContext, parseTraceparent } from "@svc/context";
import type { OpenTelemetry } from "./packages.ts";
import { continueTrace, traceOf } from "./trace-parent.ts";

const TRACEPARENT = "traceparent";
const TRACESTATE = "tracestate";

/**
 * Returns the propagator that instrumentations use to read and send trace headers. It follows COR-10 and COR-11;
 * OpenTelemetry's own propagator accepts other versions of `traceparent`.
 */
export function strictPropagator(api: OpenTelemetry["api"]): TextMapPropagator {
  return {
    fields: () => [TRACEPARENT, TRACESTATE],
    inject(context, carrier, setter) {
      const span = api.trace.getSpanContext(context);
      if (span === undefined || !api.trace.isSpanContextValid(span)) return;
      const { traceparent, tracestate } = traceOf(span, currentContext()?.trace);
      setter.set(carrier, TRACEPARENT, traceparent);
      if (tracestate !== undefined) setter.set(carrier, TRACESTATE, tracestate);
    },
    extract(context, carrier, getter) {
      const traceparent = joined(getter.get(carrier, TRACEPARENT));
      const trace = parseTraceparent(traceparent, joined(getter.get(carrier, TRACESTATE)));
      return trace === undefined ? context : continueTrace(api, context, trace);
    },
  };
}

function joined(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(",") : value;
}
