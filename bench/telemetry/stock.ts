import { createRequire } from "node:module";
import { context, propagation, trace, type Tracer } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { type Instrumentation, registerInstrumentations } from "@opentelemetry/instrumentation";
import {
  BatchSpanProcessor,
  InMemorySpanExporter,
  type ReadableSpan,
  type SpanExporter,
  TracerProvider,
} from "@opentelemetry/sdk-trace";

/** Instrumentations of OpenTelemetry, whose spans stay in memory. */
export interface Stock {
  readonly tracer: Tracer;
  /** Exports the spans that have ended, and returns the total number so far. */
  readonly spans: () => Promise<number>;
  /** Returns the span that was exported last. */
  readonly last: () => ReadableSpan | undefined;
}

// The exporter `memory` of @svc/telemetry keeps the same number.
const MAX_KEPT = 1000;

const require = createRequire(import.meta.url);

/**
 * Registers SDK and instrumentations as the manual of OpenTelemetry does. The instrumented packages must be loaded later,
 * with `require()`.
 */
export function stock(instrumentations: readonly Instrumentation[]): Stock {
  const kept = keepSpans();
  const processor = new BatchSpanProcessor({ exporter: kept.exporter });
  const provider = new TracerProvider({ spanProcessors: [processor] });
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  registerInstrumentations({ instrumentations: [...instrumentations], tracerProvider: provider });
  // The HTTP instrumentation patches the module when it is next loaded.
  require("http");
  return {
    tracer: provider.getTracer("bench"),
    async spans() {
      await processor.forceFlush();
      return kept.count();
    },
    last: kept.last,
  };
}

/** Limits and counts the spans of the exporter that keeps them in memory. */
function keepSpans() {
  const exporter = new InMemorySpanExporter();
  let count = 0;
  let last: ReadableSpan | undefined;
  const bounded: SpanExporter = {
    export(spans, done) {
      count += spans.length;
      last = spans.at(-1);
      if (exporter.getFinishedSpans().length >= MAX_KEPT) exporter.reset();
      exporter.export(spans, done);
    },
    shutdown: () => exporter.shutdown(),
  };
  return { exporter: bounded, count: () => count, last: () => last };
}
