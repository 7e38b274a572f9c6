import { telemetry, type TelemetryMiddleware, type TelemetryOptions } from "@svc/telemetry";

/** Returns the `telemetry()` middleware of a service `orders`, once it is ready. The caller stops it. */
export async function openTracing(options: Partial<TelemetryOptions>): Promise<TelemetryMiddleware> {
  const tracing = telemetry({ service: "orders", env: "dev", ...options });
  await tracing.ready;
  return tracing;
}

/** Creates consumer spans that end immediately. */
export function addSpans(tracing: TelemetryMiddleware, count: number, name = "job mail.send"): void {
  for (let index = 0; index < count; index++) tracing.span(name, "consumer", {}, () => undefined);
}

interface Flushable {
  forceFlush?(): Promise<void>;
}

/** Exports the queued spans of the provider that is registered for the process. */
export async function flush(): Promise<void> {
  const { ProxyTracerProvider, trace } = await import("@opentelemetry/api");
  const registered = trace.getTracerProvider();
  const provider = registered instanceof ProxyTracerProvider ? registered.getDelegate() : registered;
  await (provider as Flushable).forceFlush?.();
}
