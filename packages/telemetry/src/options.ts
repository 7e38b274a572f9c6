import { defineOptions, environmentKind, fault, inSeconds, kinds as k, type OptionsOf } from "@svc/options";
import type { Logger } from "@svc/context";
import { isHttpUrl } from "./endpoint.ts";
import { areHeaders } from "./header-variables.ts";

/** The methods of a logger that this package calls. */
export type TelemetryLogger = Pick<Logger, "info" | "warn" | "error">;

/** A URL that receives spans; empty for none. May contain a password, so its value is never shown. */
export const endpointKind: k.Kind<string> = k.secret({
  expects: "an http or https URL, such as http://127.0.0.1:4318",
  accepts: (value): value is string => typeof value === "string" && (value === "" || isHttpUrl(value)),
  schema: { type: "string" },
});

const paths: k.Kind<readonly string[]> = k.listOf(
  k.string({ pattern: /^\/[^?#]*$/, expects: 'a path or template that begins with "/"' }),
);

const headers: k.Kind<Readonly<Record<string, string>>> = k.secret({
  expects: "an object of header values by name",
  accepts: areHeaders,
});

export const telemetryOptions = defineOptions("telemetry()", {
  /** Resource attribute `service.name` of every span (TRACE-4, TRACE-14). Required. */
  service: { kind: k.string() },
  /** Resource attribute `service.version` of every span (TRACE-14). Default: `unknown`. */
  version: { kind: k.withDefault(k.string(), "unknown") },
  /** Resource attribute `deployment.environment.name` of every span (TRACE-14). Default: `prod`. */
  env: { kind: environmentKind },
  /**
   * Base URL of an OTLP/HTTP collector; spans go to `/v1/traces` below it. A URL with a path is used unchanged (TRACE-2).
   * Default: empty; nothing is exported over OTLP.
   */
  endpoint: { key: "endpoint", kind: k.withDefault(endpointKind, "") },
  /** The full URL that receives spans; takes precedence over `endpoint` (TRACE-2). Default: empty. */
  tracesEndpoint: { key: "traces_endpoint", kind: k.withDefault(endpointKind, "") },
  /** Additional headers of an export, for example an API key (TRACE-3). Default: none. */
  headers: { kind: k.withDefault(headers, {}) },
  /**
   * `otlp` sends spans to the endpoint, `memory` keeps the last 1,000, `console` writes one log line per span. Default:
   * `otlp`.
   */
  exporter: { key: "exporter", kind: k.withDefault(k.oneOf("otlp", "memory", "console"), "otlp") },
  /**
   * Share of the traces that start in this service and are recorded, from 0 to 1, decided by the trace id. A trace of a
   * caller keeps the caller's decision (TRACE-28). Default: 1.
   */
  sampleRatio: { key: "sample_ratio", kind: k.withDefault(k.number({ min: 0, max: 1 }), 1) },
  /**
   * Whether SQL spans contain the statement, with `?` for every literal, cut at 256 characters (TRACE-16). Default: false.
   */
  recordSqlStatement: { key: "record_sql_statement", kind: k.withDefault(k.boolean(), false) },
  /**
   * Paths without spans, whole or as templates such as `/files/:id`; their requests pass the caller's trace on unchanged.
   * Default: `/health`, `/ready`, `/metrics`.
   */
  excludePaths: { key: "exclude_paths", kind: k.withDefault(paths, ["/health", "/ready", "/metrics"]) },
  /** Time limit for the export of a batch, with its retries (TRACE-27). Default: 10,000. */
  exportTimeoutMs: {
    key: "export_timeout",
    kind: k.withDefault(k.number({ min: 10, max: 600_000 }), 10_000),
    inFile: inSeconds(k.number({ min: 0.01, max: 600 })),
  },
  /** Time limit for the export of the remaining spans in `stop()` (TRACE-27). Default: 5,000. */
  shutdownTimeoutMs: {
    key: "shutdown_timeout",
    kind: k.withDefault(k.number({ min: 10, max: 9_000 }), 5_000),
    inFile: inSeconds(k.number({ min: 0.01, max: 9 })),
  },
  /** Receives warnings about tracing itself, and the spans of the exporter `console`. Default: none. */
  logger: { kind: k.optional(k.objectWith<TelemetryLogger>("a logger", "info", "warn", "error")) },
  /** Clock in milliseconds for the intervals between warnings. Default: `performance.now`. */
  now: { kind: k.monotonicClock },
}).withCheck(({ exporter, logger }, name) => {
  if (exporter !== "console" || logger !== undefined) return [];
  return [fault("logger", `is required with ${name("exporter")} = "console"`)];
});

/** Options of `telemetry()`. Times are in milliseconds. */
export type TelemetryOptions = OptionsOf<typeof telemetryOptions>;

/** The options with all defaults. */
export type ResolvedTelemetry = ReturnType<typeof telemetryOptions.resolve>;
