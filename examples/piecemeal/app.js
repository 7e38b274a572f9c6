// A plain Express 5 application that adopts one package at a time. Every line that a package needs names the package in
// a comment. Delete these lines and the import of a package, and the application still works.
import express from "express";
import { health } from "@svc/health";
import { createClient } from "@svc/http-client";
import { jsonBody } from "@svc/json-body";
import { accessLog, createLogger } from "@svc/log";
import { metrics } from "@svc/metrics";
import { openapi } from "@svc/openapi";
import { notFound, problemHandler, unprocessable } from "@svc/problem";
import { rateLimit } from "@svc/rate-limit";
import { requestId } from "@svc/request-id";
import { telemetry } from "@svc/telemetry";

const service = "piecemeal";
const version = "1.0.0";
const env = "local";

export async function createApp() {
  const app = express();
  const logger = createLogger({ service, version, env }); // @svc/log
  const measure = metrics({ service, version }); // @svc/metrics
  const tracing = telemetry({ service, version, env, exporter: "memory" }); // @svc/telemetry: or an endpoint
  await tracing.ready; // @svc/telemetry: requests before have no spans

  const baseUrl = "http://127.0.0.1:8030"; // @svc/http-client: where the other service listens
  const translator = createClient({ name: "translator", baseUrl }); // @svc/http-client: calls within limits

  // Before the routes, in this order.
  app.use(requestId()); // @svc/request-id: X-Request-ID and W3C trace context, in and out
  app.use(tracing); // @svc/telemetry: a span per request
  app.use(accessLog({ logger })); // @svc/log: one line per request
  app.use(measure); // @svc/metrics: counts and durations
  app.use(rateLimit({ limit: 600, exemptPaths: ["/spans"] })); // @svc/rate-limit: 600 requests per minute and address
  app.use(jsonBody()); // @svc/json-body: bodies within limits
  app.use(openapi({ title: service, version })); // @svc/openapi: /openapi.json and /docs, with every route below

  app.get("/greetings/:name", (req, res) => {
    res.json({ greeting: `Hello, ${req.params.name}` });
  });
  app.post("/greetings", (req, res) => {
    const name = req.body?.name;
    if (typeof name !== "string") {
      throw unprocessable([{ type: "missing", loc: ["body", "name"], msg: "is required" }]); // @svc/problem
    }
    res.status(201).json({ greeting: `Hello, ${name}` });
  });

  const translated = async () => (await translator.get("/greeting")).json(); // @svc/http-client
  app.get("/translated", async (_req, res) => res.json(await translated())); // @svc/http-client

  // After the routes.
  app.get("/metrics", measure.handler); // @svc/metrics
  app.get("/spans", (_req, res) => res.json(tracing.spans())); // @svc/telemetry: for development only
  app.use(health({ service, version, env })); // @svc/health: /health, /ready and /info
  app.use(notFound()); // @svc/problem: 404 and 405
  app.use(problemHandler({ logger })); // @svc/problem: every error becomes a problem; { logger } needs @svc/log
  return app;
}
