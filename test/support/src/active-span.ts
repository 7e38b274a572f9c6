/** Runs a function while a span of OpenTelemetry with this sampled `traceparent` is active. */
export async function withActiveSpan<T>(traceparent: string, fn: () => T | Promise<T>): Promise<T> {
  // Load this here, because most tests do not need OpenTelemetry.
  const { context, ROOT_CONTEXT, trace } = await import("@opentelemetry/api");
  const { AsyncLocalStorageContextManager } = await import("@opentelemetry/context-async-hooks");
  const [, traceId = "", spanId = ""] = traceparent.split("-");
  const manager = new AsyncLocalStorageContextManager().enable();
  context.setGlobalContextManager(manager);
  try {
    return await context.with(trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: 1 }), fn);
  } finally {
    context.disable();
    manager.disable();
  }
}
