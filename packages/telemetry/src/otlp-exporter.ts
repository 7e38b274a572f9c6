import type { Agent } from "node:http";
import type { SpanExporter } from "@opentelemetry/sdk-trace";
import type { Failures } from "./failures.ts";
import type { ResolvedTelemetry } from "./options.ts";
import type { OpenTelemetry } from "./packages.ts";
import { runIn, suppressed } from "./run-in-context.ts";

/** An exporter whose running export can be ended. */
export interface OtlpExporter extends SpanExporter {
  /** Closes the connection of the running export, which then fails without a retry. */
  abort(): void;
}

export interface OtlpExporterOptions extends Pick<ResolvedTelemetry, "headers" | "exportTimeoutMs"> {
  readonly api: OpenTelemetry["api"];
  readonly otlp: NonNullable<OpenTelemetry["otlp"]>;
  readonly url: string;
  readonly failures: Failures;
}

/**
 * Returns the exporter over OTLP/HTTP. It receives every setting explicitly, so that no variable of OpenTelemetry changes it
 * (ENV-6). Its own requests have no spans.
 */
export function otlpExporter({
  api,
  otlp,
  url,
  headers,
  exportTimeoutMs,
  failures,
}: OtlpExporterOptions): OtlpExporter {
  let agent: Agent | undefined;
  let aborted = false;
  const exporter = withoutVariables(
    () =>
      new otlp.OTLPTraceExporter({
        url,
        // Called before every attempt.
        headers() {
          if (aborted) throw new Error("the export was aborted");
          return Promise.resolve({ ...headers });
        },
        timeoutMillis: exportTimeoutMs,
        compression: "gzip" as never,
        async httpAgentOptions(protocol) {
          const { Agent } = await (protocol === "https:" ? import("node:https") : import("node:http"));
          return (agent = new Agent({ keepAlive: true }));
        },
      }),
  );
  return {
    export(spans, done) {
      aborted = false;
      runIn(
        api,
        () => suppressed(api, api.context.active()),
        () => exporter.export(spans, done),
        failures,
      );
    },
    abort() {
      aborted = true;
      for (const socket of Object.values(agent?.sockets ?? {}).flat()) {
        // Pass an error: without one, the request would fail with ECONNRESET, after which the exporter retries.
        socket?.destroy(new Error("the export was aborted"));
      }
    },
    async shutdown() {
      await exporter.shutdown();
      agent?.destroy();
    },
  };
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
