import type { IncomingMessage } from "node:http";
import type { RequestContext } from "./request-context.ts";
import { parseTraceparent } from "./trace-context.ts";

/**
 * Stores the caller's `traceparent` and `tracestate` in a request's context, which parses them when its `trace` is first
 * read (COR-9). Keeps a trace that the context already has.
 */
export function deferTraceHeaders(context: RequestContext, { headers }: IncomingMessage): void {
  const { traceparent, tracestate } = headers;
  if (typeof traceparent !== "string") return;
  context.deferTrace(parseTraceparent, traceparent, typeof tracestate === "string" ? tracestate : undefined);
}
