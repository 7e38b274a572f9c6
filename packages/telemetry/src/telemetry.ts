import type { IncomingMessage, ServerResponse } from "node:http";
import type { Middleware, ReadinessCheck, SpanHook } from "@svc/context";
import { namesOf } from "@svc/options";
import { safeLogger } from "@svc/resilience";
import { shownUrl, tracesUrl } from "./endpoint.ts";
import { exclusions } from "./exclusions.ts";
import { createFailures } from "./failures.ts";
import { consoleExporter, type LocalExporter, memoryExporter } from "./local-exporters.ts";
import { type ResolvedTelemetry, type TelemetryOptions, telemetryOptions } from "./options.ts";
import { otlpExporter } from "./otlp-exporter.ts";
import { loadOpenTelemetry, type OpenTelemetry } from "./packages.ts";
import { createProvider } from "./provider.ts";
import { type ExportCounts, noCounts, telemetryCheck } from "./readiness.ts";
import type { RecordedSpan } from "./recorded-span.ts";
import { scrubForeignSpans } from "./scrub.ts";
import { serverSpans } from "./server-spans.ts";
import { createSpanQueue, type SpanQueue } from "./span-queue.ts";
import { createSpans, NO_SPAN, type Spans } from "./spans.ts";
import { createQueryTracer, type TracedPool } from "./sql/trace-queries.ts";

/** The middleware that traces requests, with hooks for other packages. */
export interface TelemetryMiddleware extends Middleware, AsyncDisposable {
  /** Whether spans have a destination; false without an endpoint. */
  readonly exporting: boolean;
  /** Runs an operation inside a span; for the option `span` of other packages. */
  readonly span: SpanHook;
  /**
   * Creates a span for every statement that runs on a `pg` pool, or on the pool of a `Database`, while a span is open
   * (TRACE-8).
   *
   * @throws TypeError for any other value
   */
  readonly traceQueries: (pool: TracedPool) => void;
  /**
   * Resolves when the optional packages are loaded; until then, requests have no spans.
   *
   * @throws ConfigurationError with the install command when one is missing (TRACE-29)
   */
  readonly ready: Promise<void>;
  /** Returns the check for `/ready`, always the same object; never critical (RDY-17). */
  readonly readiness: () => ReadinessCheck;
  /** Returns the counts of exported and dropped spans and of failed batches. */
  readonly counts: () => ExportCounts;
  /** Returns the last 1,000 spans, oldest first, with the exporter `memory`; otherwise an empty list. */
  readonly spans: () => readonly RecordedSpan[];
  /** Exports the remaining spans, for at most `shutdownTimeoutMs`. Requests have no spans from then on. Never rejects. */
  readonly stop: () => Promise<void>;
}

/**
 * Traces requests with OpenTelemetry. Without an endpoint it loads nothing, creates no spans and passes the caller's trace
 * on unchanged (TRACE-1, TRACE-5, COR-15). Tracing never makes a request fail or wait (TRACE-21).
 *
 * @throws ConfigurationError for unknown or invalid options
 */
export function telemetry(options: TelemetryOptions): TelemetryMiddleware {
  const settings = telemetryOptions.resolve(options);
  const target = targetOf(settings);
  const failures = createFailures(settings);
  const log = safeLogger(settings.logger);
  const isExcluded = exclusions(settings.excludePaths);
  let attributesDropped = 0;
  const onDropped = (count: number): void => void (attributesDropped += count);
  let open: Open | undefined;
  /** Remains available after stop(), with its counts and spans. */
  let output: Open["output"] | undefined;
  let stopping: Promise<void> | undefined;

  async function load(): Promise<void> {
    if (target === undefined) return;
    const names = namesOf(options, telemetryOptions.subject);
    const key = names.of(settings.exporter === "otlp" ? "endpoint" : "exporter");
    const otel = await loadOpenTelemetry(settings.exporter === "otlp", key);
    if (stopping === undefined) open = openTracing(otel, target);
  }

  function openTracing(otel: OpenTelemetry, url: string): Open {
    output = outputOf(otel, url);
    const recordStatement = settings.recordSqlStatement;
    const processor = scrubForeignSpans(output, { recordStatement, failures, onDropped });
    const provider = createProvider(otel, processor, settings);
    const { tracer } = provider;
    const spans = createSpans({ api: otel.api, tracer, failures, onDropped });
    return { spans, server: serverSpans(otel.api, tracer, failures), output, release: provider.release };
  }

  function outputOf({ api, otlp }: OpenTelemetry, url: string): LocalExporter | SpanQueue {
    if (settings.exporter === "memory") return memoryExporter();
    if (settings.exporter === "console" || otlp === undefined) return consoleExporter(settings.logger);
    const { headers, exportTimeoutMs } = settings;
    const exporter = otlpExporter({ api, otlp, url, headers, exportTimeoutMs, failures });
    return createSpanQueue({ exporter, exportTimeoutMs, failures, onChange });
  }

  function onChange(failing: boolean, error: unknown): void {
    const fields = { endpoint: target && shownTarget(settings, target) };
    if (failing)
      log?.warn({ ...fields, reason: reasonOf(error) }, "span export failing; spans are being dropped");
    else log?.info(fields, "span export works again");
  }

  function telemetryMiddleware(
    req: IncomingMessage,
    res: ServerResponse,
    next: (err?: unknown) => void,
  ): void {
    const server = open?.server;
    if (server === undefined || isExcluded(req)) next();
    else server(req, res, next);
  }

  async function close(): Promise<void> {
    const closing = open;
    open = undefined;
    if (closing === undefined) return;
    if ("stop" in closing.output) await closing.output.stop(settings.shutdownTimeoutMs);
    closing.release();
  }

  const counts = (): ExportCounts => output?.counts ?? noCounts;
  const check = telemetryCheck(() => ({
    target: target === undefined ? undefined : shownTarget(settings, target),
    counts: counts(),
    attributesDropped,
    failures: failures.count,
  }));
  const traceQueries = createQueryTracer({
    spans: {
      startClient: (name, attributes) => open?.spans.startClient(name, attributes),
      bind: (callback) => open?.spans.bind(callback) ?? callback,
    },
    isTracing: () => open?.spans.isTracing() === true,
    recordStatement: settings.recordSqlStatement,
    logFailure: failures.report,
  });
  const ready = load();
  // Without a listener, the rejection would end the process before the application can await it.
  ready.catch((error: unknown) => log?.error({ err: error }, "tracing did not start"));
  const stop = (): Promise<void> => (stopping ??= close());

  return Object.assign(telemetryMiddleware, {
    exporting: target !== undefined,
    span: ((name, kind, attributes, run) =>
      open === undefined ? run(NO_SPAN) : open.spans.hook(name, kind, attributes, run)) as SpanHook,
    // Without a destination, wrap no client, so that tracing costs nothing.
    traceQueries: target === undefined ? () => undefined : traceQueries,
    ready,
    readiness: () => check,
    counts,
    spans: () => (output !== undefined && "spans" in output ? output.spans() : []),
    stop,
    [Symbol.asyncDispose]: stop,
  });
}

/** The parts that exist once the optional packages are loaded. */
interface Open {
  readonly spans: Spans;
  readonly server: Middleware;
  readonly output: LocalExporter | SpanQueue;
  readonly release: () => void;
}

/** Returns the reason for a failed export, without the error's message, which may contain the URL. */
function reasonOf(error: unknown): string {
  const { code, name } = Object(error) as { readonly code?: unknown; readonly name?: unknown };
  if (typeof code === "number") return `HTTP status ${code}`;
  if (typeof code === "string") return code;
  return typeof name === "string" ? name : "unknown";
}

/** Returns the destination of spans: a URL, or the name of an exporter without a URL; undefined without a destination. */
function targetOf({ exporter, endpoint, tracesEndpoint }: ResolvedTelemetry): string | undefined {
  if (exporter !== "otlp") return exporter;
  if (tracesEndpoint !== "") return tracesEndpoint;
  return endpoint === "" ? undefined : tracesUrl(endpoint);
}

function shownTarget({ exporter }: ResolvedTelemetry, target: string): string {
  return exporter === "otlp" ? shownUrl(target) : target;
}
