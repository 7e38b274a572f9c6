import type { IncomingMessage, ServerResponse } from "node:http";
import {
  deferTraceHeaders,
  enterContext,
  isRequestId,
  type Middleware,
  mintRequestId,
  openContext,
  type RequestContext,
  setCheckedHeader,
} from "@svc/context";
import { readOptions, type RequestIdOptions } from "./options.ts";

/**
 * Returns middleware that gives every request an id and a trace context: it reads `X-Request-ID`, `traceparent` and
 * `tracestate`, writes `requestId` and `trace` of the request's context, makes that context current and sets
 * `X-Request-ID` on the response (COR-1, COR-2, COR-3, COR-9). It never rejects a request because of these headers.
 * Mount it first. It keeps an id or a trace that the context already has.
 *
 * @throws ConfigurationError for unknown or invalid options
 */
export function requestId(options?: RequestIdOptions): Middleware {
  const { trustIncoming, generate } = readOptions(options);
  const newId = generate === undefined ? mintRequestId : (): string => generatedId(generate);

  return function requestIdMiddleware(req, res, next) {
    const context = openContext(req);
    if (trustIncoming) readCaller(context, req);
    if (context.requestId === "") context.requestId = newId();
    echo(context.requestId, res);
    enterContext(req, res, next);
  };
}

function readCaller(context: RequestContext, req: IncomingMessage): void {
  const { headers } = req;
  if (context.requestId === "") {
    // Node joins a repeated header with ", ", and an id with a space is illegal (COR-7).
    const given = headers["x-request-id"];
    if (isRequestId(given)) context.requestId = given;
  }
  deferTraceHeaders(context, req);
}

function echo(id: string, res: ServerResponse): void {
  if (!res.headersSent) setCheckedHeader(res, "x-request-id", "X-Request-ID", id);
}

// An error in the application's function must not fail the request.
function generatedId(generate: () => string): string {
  try {
    const id = generate();
    if (isRequestId(id)) return id;
  } catch {
    // Use the minted id below.
  }
  return mintRequestId();
}
