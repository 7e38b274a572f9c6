import { createRequire } from "node:module";
import type { ExpressLayerType } from "@opentelemetry/instrumentation-express";
import { globalTracer } from "./otel-tracer.ts";
import { hookImports } from "./preload-hooks.ts";

type Express = typeof import("@opentelemetry/instrumentation-express");
type Http = typeof import("@opentelemetry/instrumentation-http");
type Pg = typeof import("@opentelemetry/instrumentation-pg");

const API = "@opentelemetry/api";
const HTTP = "@opentelemetry/instrumentation-http";
const EXPRESS = "@opentelemetry/instrumentation-express";
const PG = "@opentelemetry/instrumentation-pg";

// Loaded synchronously, so that `--require` works like `--import`.
const require = createRequire(import.meta.url);

const missing = [API, HTTP, EXPRESS, PG].filter((name) => !isInstalled(name));
if (missing.length > 0)
  throw new Error(`@svc/telemetry/preload needs more packages; run: npm install ${missing.join(" ")}`);

const api = require(API) as typeof import("@opentelemetry/api");
const { HttpInstrumentation } = require(HTTP) as Http;
const { ExpressInstrumentation } = require(EXPRESS) as Express;
const { PgInstrumentation } = require(PG) as Pg;

const everyLayer = ["router", "middleware", "request_handler"] as ExpressLayerType[];

/**
 * The instrumentations that `node --import @svc/telemetry/preload` registers before the application loads. Their spans go
 * to the provider that `telemetry()` registers later. Change one with its `setConfig()`, for example to have spans of
 * Express middleware: `instrumentations.express.setConfig({})`.
 */
export const instrumentations = {
  /** Outgoing requests, while a span is open. The middleware creates the span of an incoming request (TRACE-22). */
  http: new HttpInstrumentation({
    disableIncomingRequestInstrumentation: true,
    requireParentforOutgoingSpans: true,
  }),
  /** Creates no spans until `setConfig()` changes `ignoreLayersType`: a request already has its span (TRACE-22). */
  express: new ExpressInstrumentation({ ignoreLayersType: everyLayer }),
  /** Statements, while a span is open. A statement that `traceQueries()` traces gets no second span. */
  pg: new PgInstrumentation({ requireParentSpan: true, ignoreConnectSpans: true }),
};

for (const each of Object.values(instrumentations))
  each.setTracerProvider({ getTracer: (name, version) => globalTracer(api, name, version) });
hookImports([HTTP, EXPRESS, PG], ["http", "https", "express", "pg", "pg-pool"]);

function isInstalled(name: string): boolean {
  try {
    require.resolve(name);
    return true;
  } catch {
    return false;
  }
}
