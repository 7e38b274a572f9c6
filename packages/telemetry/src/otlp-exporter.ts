import type { SpanExporter } from "@opentelemetry/sdk-trace";
import type { OpenTelemetry } from "./packages.ts";
import type { ResolvedTelemetry } from "./options.ts";

/**
 * Returns the exporter over OTLP/HTTP. It is given everything explicitly, so that no variable of OpenTelemetry changes it
 * (ENV-6).
 */
export function otlpExporter(
  otlp: NonNullable<OpenTelemetry["otlp"]>,
  url: string,
  { headers, exportTimeoutMs }: Pick<ResolvedTelemetry, "headers" | "exportTimeoutMs">,
): SpanExporter {
  return withoutVariables(
    () =>
      new otlp.OTLPTraceExporter({
        url,
        headers: { ...headers },
        timeoutMillis: exportTimeoutMs,
        compression: "gzip" as never,
        keepAlive: true,
      }),
  );
}

// The constructor reads headers and certificates from variables, and would add them to those of the options.
function withoutVariables<T>(make: () => T): T {
  const hidden = Object.entries(process.env).filter(([name]) => name.startsWith("OTEL_"));
  for (const [name] of hidden) Reflect.deleteProperty(process.env, name);
  try {
    return make();
  } finally {
    for (const [name, value] of hidden) process.env[name] = value;
  }
}
