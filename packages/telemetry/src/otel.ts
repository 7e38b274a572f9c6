import type { IncomingMessage, ServerResponse } from "node:http";
import * as api from "@opentelemetry/api";
import type { Middleware, SpanHook } from "@svc/context";
import { defineOptions, type OptionsOf, pickOptions } from "@svc/options";
import { exclusions } from "./exclusions.ts";
import { createFailures } from "./failures.ts";
import { telemetryOptions } from "./options.ts";
import { globalTracer } from "./otel-tracer.ts";
import { SCOPE } from "./provider.ts";
import { serverSpans } from "./server-spans.ts";
import { createSpans } from "./spans.ts";
import { createQueryTracer, type TracedPool } from "./sql/trace-queries.ts";

const openTelemetryOptions = defineOptions(
  "openTelemetry()",
  pickOptions(telemetryOptions, "excludePaths", "recordSqlStatement", "logger", "now"),
);

/** Options of `openTelemetry()`. */
export type OpenTelemetryOptions = OptionsOf<typeof openTelemetryOptions>;

/** The middleware of `openTelemetry()`, with hooks for other packages. */
export interface OpenTelemetryMiddleware extends Middleware {
  /** Runs an operation inside a span; for the option `span` of other packages. */
  readonly span: SpanHook;
  /**
   * Creates a span for every statement that runs on a `pg` pool, or on the pool of a `Database`, while a span is open
   * (TRACE-8).
   *
   * @throws TypeError for any other value
   */
  readonly traceQueries: (pool: TracedPool) => void;
}

/**
 * Traces requests like `telemetry()`, through the provider and the context manager that the application registers with
 * OpenTelemetry. The application determines sampling, resource and export. Without a provider it creates no spans.
 *
 * @throws ConfigurationError for unknown or invalid options
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): OpenTelemetryMiddleware {
  const settings = openTelemetryOptions.resolve(options);
  const failures = createFailures(settings);
  const isExcluded = exclusions(settings.excludePaths);
  const tracer = globalTracer(api, SCOPE);
  const spans = createSpans({ api, tracer, failures, onDropped: () => undefined });
  const server = serverSpans(api, tracer, failures);

  function openTelemetryMiddleware(
    req: IncomingMessage,
    res: ServerResponse,
    next: (err?: unknown) => void,
  ): void {
    if (isExcluded(req)) next();
    else server(req, res, next);
  }

  return Object.assign(openTelemetryMiddleware, {
    span: spans.hook,
    traceQueries: createQueryTracer({
      spans,
      isTracing: spans.isTracing,
      recordStatement: settings.recordSqlStatement,
      logFailure: (error) => failures.report(error),
    }),
  });
}
