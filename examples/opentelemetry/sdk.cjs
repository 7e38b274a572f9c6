// Starts the stock SDK of OpenTelemetry. Preload it, because instrumentations see only modules that are loaded after them.
const { context, propagation, SpanKind, trace } = require("@opentelemetry/api");
const { AsyncLocalStorageContextManager } = require("@opentelemetry/context-async-hooks");
const { W3CTraceContextPropagator } = require("@opentelemetry/core");
const { registerInstrumentations } = require("@opentelemetry/instrumentation");
const { ExpressInstrumentation } = require("@opentelemetry/instrumentation-express");
const { HttpInstrumentation } = require("@opentelemetry/instrumentation-http");
const { UndiciInstrumentation } = require("@opentelemetry/instrumentation-undici");
const { SimpleSpanProcessor, TracerProvider } = require("@opentelemetry/sdk-trace");

// Prints each span as a line of JSON. In a real service, use an exporter that sends the spans to a collector.
const exporter = {
  export(spans, done) {
    for (const span of spans) {
      const { traceId } = span.spanContext();
      console.log(JSON.stringify({ span: span.name, kind: SpanKind[span.kind], trace_id: traceId }));
    }
    done({ code: 0 });
  },
  shutdown: async () => {},
};

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
propagation.setGlobalPropagator(new W3CTraceContextPropagator());
trace.setGlobalTracerProvider(
  new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }),
);
registerInstrumentations({
  instrumentations: [
    new HttpInstrumentation(),
    // Without this option, every middleware has a span of its own.
    new ExpressInstrumentation({ ignoreLayersType: ["middleware", "router", "request_handler"] }),
    new UndiciInstrumentation(), // for fetch()
  ],
});
