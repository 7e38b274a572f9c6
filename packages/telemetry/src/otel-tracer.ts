import { createRequire } from "node:module";
import type { Tracer, TracerProvider } from "@opentelemetry/api";
import type { OpenTelemetry } from "./packages.ts";

type Api = OpenTelemetry["api"];

/**
 * Returns a tracer of the provider that is registered when a span starts. A tracer from `trace.getTracer()` misses a provider
 * that is registered later through another copy of the API: `import` and `require` load different copies.
 */
export function globalTracer({ trace }: Pick<Api, "trace">, name: string, version?: string): Tracer {
  let provider: TracerProvider | undefined;
  let tracer: Tracer | undefined;
  function current(): Tracer {
    const registered = trace.getTracerProvider();
    if (tracer === undefined || registered !== provider) tracer = registered.getTracer(name, version);
    provider = registered;
    return tracer;
  }
  return {
    startSpan: (...args) => current().startSpan(...args),
    startActiveSpan: ((...args: Parameters<Tracer["startActiveSpan"]>) =>
      current().startActiveSpan(...args)) as Tracer["startActiveSpan"],
  };
}

/**
 * Registers a provider for the whole process, including tracers that CommonJS code has already obtained.
 *
 * @returns false if the application has already registered a provider
 */
export function registerProvider({ trace }: Api, provider: TracerProvider): boolean {
  const required = requiredApi();
  const waiting = required?.trace.getTracerProvider();
  const isFirst = trace.setGlobalTracerProvider(provider);
  if (isFirst && required !== undefined && waiting instanceof required.ProxyTracerProvider)
    waiting.setDelegate(provider);
  return isFirst;
}

/** Returns the copy of the API that `require` loads, if the application has loaded it. */
function requiredApi(): Api | undefined {
  const require = createRequire(import.meta.url);
  try {
    return require.cache[require.resolve("@opentelemetry/api")]?.exports as Api | undefined;
  } catch {
    // A bundle contains the API, so its path cannot be resolved.
    return undefined;
  }
}
