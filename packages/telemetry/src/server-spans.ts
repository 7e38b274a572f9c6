import type { IncomingMessage, ServerResponse } from "node:http";
import type { Context, Span, Tracer } from "@opentelemetry/api";
import {
  contextOf,
  deferTraceHeaders,
  enterContext,
  type Middleware,
  onResponseEnd,
  openContext,
} from "@svc/context";
import { responseError } from "@svc/problem";
import { routeTemplateOf } from "@svc/route-template";
import { cutText } from "./attributes.ts";
import { createWithSpan } from "./context-with-span.ts";
import { exceptionAttributes } from "./exception-event.ts";
import type { Failures } from "./failures.ts";
import { httpSpanReader } from "./http-span.ts";
import type { OpenTelemetry } from "./packages.ts";
import { runIn } from "./run-in-context.ts";
import { ERROR, SERVER } from "./span-codes.ts";
import { continueTrace, traceOf } from "./trace-parent.ts";

const SPAN: unique symbol = Symbol("@svc/telemetry/span") as never;

interface TracedRequest extends IncomingMessage {
  [SPAN]?: Span;
}

/**
 * Returns middleware that runs a request inside its server span (TRACE-7, TRACE-18, TRACE-22). The span's trace is the
 * context's `trace` from then on, even after the response: work that the request started still belongs to it.
 */
export function serverSpans(api: OpenTelemetry["api"], tracer: Tracer, failures: Failures): Middleware {
  const options = { kind: SERVER };
  const httpSpanIn = httpSpanReader(api);
  const withSpan = createWithSpan(api);

  function start(req: TracedRequest, res: ServerResponse): Context | undefined {
    const active = api.context.active();
    // Do not create a second server span inside that of another telemetry() or of OpenTelemetry's HTTP instrumentation.
    const outer = api.trace.getSpan(active);
    if (req[SPAN] !== undefined || isOpenServerSpan(outer) || httpSpanIn(active) !== undefined)
      return undefined;
    const context = openContext(req);
    // With an id, requestId() has read the caller's headers, or its options say not to trust them.
    if (context.requestId === "") deferTraceHeaders(context, req);
    const caller = context.trace;
    // Ignore a span that was active when the server was started: it is not the parent of a request.
    const outside = outer === undefined ? active : api.trace.deleteSpan(active);
    const parent = caller === undefined ? outside : continueTrace(api, active, caller);
    const span = tracer.startSpan(methodOf(req), options, parent);
    // A span has no ids if tracing is suppressed here or no provider is registered.
    const own = span.spanContext();
    if (own.traceId === api.INVALID_TRACEID) return undefined;
    req[SPAN] = span;
    context.openSpan(traceOf(own, caller));
    onResponseEnd(req, res, ended);
    return withSpan(active, span);
  }

  function ended(req: TracedRequest, res: ServerResponse, aborted: boolean): void {
    const span = req[SPAN];
    if (span === undefined) return;
    try {
      if (span.isRecording()) describe(span, req, res, aborted);
    } catch (error) {
      failures.report(error);
    }
    try {
      span.end();
    } catch (error) {
      failures.report(error);
    }
  }

  return function telemetryMiddleware(req, res, next) {
    let context: Context | undefined;
    try {
      context = start(req, res);
    } catch (error) {
      failures.report(error);
    }
    if (context === undefined) {
      next();
      return;
    }
    const inside = context;
    enterContext(req, res, () => runIn(api, () => inside, next, failures));
  };
}

function isOpenServerSpan(span: Span | undefined): boolean {
  return (span as { readonly kind?: number } | undefined)?.kind === SERVER && span?.isRecording() === true;
}

function methodOf({ method = "" }: IncomingMessage): string {
  return cutText(method);
}

function describe(span: Span, req: IncomingMessage, res: ServerResponse, aborted: boolean): void {
  const method = methodOf(req);
  const template = routeTemplateOf(req);
  const context = contextOf(req);
  span.setAttribute("http.request.method", method);
  if (template !== undefined) {
    const route = cutText(template);
    span.updateName(`${method} ${route}`);
    span.setAttribute("http.route", route);
  }
  // If the connection broke before the response head was sent, there is no status.
  if (!aborted || res.headersSent) span.setAttribute("http.response.status_code", res.statusCode);
  const { tenantId, requestId = "" } = context ?? {};
  if (tenantId !== undefined) span.setAttribute("jfast.tenant_id", cutText(tenantId));
  if (requestId !== "") span.setAttribute("jfast.request_id", requestId);
  const error = responseError(res);
  // With a status below 400, an error means that the response failed after its head was sent; with a 4xx, the client caused it.
  if (res.statusCode >= 500 || (error !== undefined && res.statusCode < 400)) span.setStatus(ERROR);
  else return;
  if (error !== undefined) span.addEvent("exception", exceptionAttributes(error));
}
