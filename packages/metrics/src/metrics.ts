import type { IncomingMessage, ServerResponse } from "node:http";
import {
  isSampled,
  type Middleware,
  onResponseEnd,
  openContext,
  type ReadinessCheck,
  type ResponseEndListener,
} from "@svc/context";
import { type ConfigurationError, namesOf, optionError } from "@svc/options";
import { routeTemplateOf } from "@svc/route-template";
import type { Registry } from "prom-client";
import PromRegistry from "prom-client/lib/registry.js";
import { addMetrics } from "./add-metrics.ts";
import { registerEventLoopDelay } from "./event-loop-delay.ts";
import { openMetricsText, OPENMETRICS_TYPE, TEXT_TYPE, wantsOpenMetrics } from "./exposition.ts";
import { type MetricsOptions, metricsOptions } from "./options.ts";
import { registerProcessMetrics } from "./process-metrics.ts";
import { createRequestCells, type MethodCells, type RequestCells, UNMATCHED } from "./request-cells.ts";
import { registerRequestMetrics } from "./request-metrics.ts";

/** The middleware that counts requests, with its registry and handler. */
export interface MetricsMiddleware extends Middleware, AsyncDisposable {
  /** The registry that `/metrics` shows; add your own metrics to it (`registers: [m.registry]`). */
  readonly registry: Registry;
  /**
   * Responds to GET and HEAD on any path with all metrics (SYS-7); passes other methods to `next`. An error of a metric's
   * `collect` goes to `next`.
   */
  readonly handler: Middleware;
  /** Returns a non-critical check for `/ready`: unhealthy once requests count under `<other>` (RDY-18). */
  readonly readiness: () => ReadinessCheck;
  /** Stops the event-loop and garbage-collection monitors. Requests are still counted. */
  readonly stop: () => void;
}

/** The status that nginx logs when a client disconnects before the response. */
const CLIENT_CLOSED_REQUEST = 499;

/**
 * Counts requests and their durations (MET-3 to MET-10). Mount it before every other middleware and route that can
 * respond. If `requestId()` or a logger runs earlier, durations are measured from that point.
 *
 * A request counts with status 499 when its connection breaks before the head of the response is sent, and with the sent
 * status when it breaks later.
 *
 * @throws ConfigurationError for invalid options, or a registry that already has metrics with these names
 */
export function metrics(options?: MetricsOptions): MetricsMiddleware {
  const resolved = metricsOptions.resolve(options);
  const { buckets, maxSeries, defaultMetrics, eventLoopDelay, service, version } = resolved;
  const own = new PromRegistry();
  const cells = createRequestCells(buckets, maxSeries);
  registerRequestMetrics(own, cells, { service, version });
  const ofRequests = new Set(own.getMetricsAsArray().map(({ name }) => name));
  const monitors: (() => void)[] = [];
  if (defaultMetrics) monitors.push(registerProcessMetrics(own));
  if (eventLoopDelay) monitors.push(registerEventLoopDelay(own));
  const stop = (): void => {
    for (const stopMonitor of monitors.splice(0)) stopMonitor();
  };
  const { registry = own } = resolved;
  const taken = registry === own ? [] : addMetrics(own, registry);
  if (taken.length > 0) {
    stop();
    const areDefault = !taken.some((name) => ofRequests.has(name));
    throw duplicates(options, taken, areDefault);
  }

  // One listener per method avoids a closure per request, and keeps the original method when other code overrides it.
  const listenerOf = resolved.exemplars ? exemplarListener : responseListener;
  const listeners = new Map(cells.methods.map((of) => [of, listenerOf(cells, of)]));

  function countRequest(req: IncomingMessage, res: ServerResponse, next: (err?: unknown) => void): void {
    const of = cells.methodOf(req.method);
    openContext(req);
    of.inProgress++;
    onResponseEnd(req, res, listeners.get(of) as ResponseEndListener);
    next();
  }

  return Object.assign(countRequest, {
    registry,
    handler: metricsHandler(registry),
    readiness: () => seriesCheck(cells),
    stop,
    [Symbol.asyncDispose]: async () => stop(),
  });
}

/** Number of duplicate metrics that an error names. */
const NAMED = 3;

/** Returns an error that names the duplicate metrics and the remedy; prom-client's own error names only the first. */
function duplicates(
  options: MetricsOptions | undefined,
  taken: readonly string[],
  areDefault: boolean,
): ConfigurationError {
  const names = namesOf(options, metricsOptions.subject);
  const more = taken.length - NAMED;
  const shown = `already has ${taken.slice(0, NAMED).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
  const option = names.of("defaultMetrics");
  const inCode = option === "defaultMetrics";
  const without = inCode ? "pass defaultMetrics: false and eventLoopDelay: false" : `set ${option} = false`;
  const remedy = areDefault
    ? `${without}, because collectDefaultMetrics() was called for this registry`
    : `give each ${inCode ? "metrics()" : "service"} its own registry`;
  return optionError(names, "registry", `${shown}; ${remedy}`);
}

function responseListener(cells: RequestCells, of: MethodCells): ResponseEndListener {
  return (req, res, aborted) => void countResponse(cells, of, req, res, aborted);
}

/** Returns a listener that also keeps the trace of a sampled request. */
function exemplarListener(cells: RequestCells, of: MethodCells): ResponseEndListener {
  return (req, res, aborted) => {
    const value = countResponse(cells, of, req, res, aborted);
    const { trace } = openContext(req);
    if (trace === undefined || !isSampled(trace)) return;
    const exemplar = { labelSet: { trace_id: trace.traceId }, value, timestamp: Date.now() / 1000 };
    cells.keepExemplar(of, endpointOf(req), exemplar);
  };
}

/** Returns the duration of the request in seconds. */
function countResponse(
  cells: RequestCells,
  of: MethodCells,
  req: IncomingMessage,
  res: ServerResponse,
  aborted: boolean,
): number {
  of.inProgress--;
  const seconds = (performance.now() - openContext(req).startedAt) / 1000;
  const status = aborted && !res.headersSent ? CLIENT_CLOSED_REQUEST : res.statusCode;
  cells.record(of, endpointOf(req), status, seconds);
  return seconds;
}

function endpointOf(req: IncomingMessage): string {
  return routeTemplateOf(req) ?? UNMATCHED;
}

function metricsHandler(registry: Registry): Middleware {
  return function metricsPage(req, res, next) {
    if (req.method !== "GET" && req.method !== "HEAD") {
      next();
      return;
    }
    const open = wantsOpenMetrics(req.headers.accept);
    const rendered = open ? openMetricsText(registry) : registry.metrics();
    rendered
      .then((text) => {
        if (res.headersSent || res.destroyed) return;
        const body = Buffer.from(text);
        res.statusCode = 200;
        res.setHeader("Content-Type", open ? OPENMETRICS_TYPE : TEXT_TYPE);
        res.setHeader("Content-Length", body.length);
        res.setHeader("Cache-Control", "no-store");
        res.end(body);
      })
      .catch(next);
  };
}

function seriesCheck(cells: RequestCells): ReadinessCheck {
  return {
    name: "metrics",
    critical: false,
    check() {
      const { used, max, overflowed } = cells.usage();
      const detail = overflowed
        ? `more than ${max} pairs of method and endpoint: the others are counted under <other>`
        : `${used} of ${max} pairs of method and endpoint`;
      return { healthy: !overflowed, detail };
    },
  };
}
