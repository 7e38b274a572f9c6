// A plain Express 5 application that takes one package at a time. Every line marked with its package works without
// the others: delete any of them and the rest goes on.
import express from "express";
import { health } from "@svc/health";
import { jsonBody } from "@svc/json-body";
import { accessLog, createLogger } from "@svc/log";
import { metrics } from "@svc/metrics";
import { notFound, problemHandler, unprocessable } from "@svc/problem";
import { requestId } from "@svc/request-id";

export function createApp({ destination } = {}) {
  const logger = createLogger({ service: "piecemeal", env: "local", destination });
  const measured = metrics({ service: "piecemeal", version: "1.0.0" });
  const app = express();

  app.use(requestId()); // @svc/request-id: X-Request-ID and trace context
  app.use(accessLog({ logger })); // @svc/log: one line per request
  app.use(measured); // @svc/metrics: counts and durations
  app.use(jsonBody()); // @svc/json-body: bodies within limits

  app.post("/greetings", (req, res) => {
    const { name } = req.body ?? {};
    if (typeof name !== "string")
      throw unprocessable([{ type: "missing", loc: ["body", "name"], msg: "is required" }]);
    res.status(201).json({ greeting: `Hello, ${name}` });
  });

  app.get("/metrics", measured.handler); // @svc/metrics
  app.use(health({ service: "piecemeal", version: "1.0.0", env: "local" })); // @svc/health: /health /ready /info
  app.use(notFound(), problemHandler({ logger })); // @svc/problem: every failure is a problem document
  return app;
}
