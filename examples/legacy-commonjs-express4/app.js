"use strict";
// A CommonJS application on Express 4. require() loads the packages, because Node can require an ES module that has no
// top-level await.
const express = require("express");
const { contextOf } = require("@svc/context");
const { health } = require("@svc/health");
const { jsonBody } = require("@svc/json-body");
const { accessLog, createLogger } = require("@svc/log");
const { metrics } = require("@svc/metrics");
const { describes, openapi } = require("@svc/openapi");
const { notFound, notFoundError, problemHandler } = require("@svc/problem");
const { requestId } = require("@svc/request-id");

const service = "legacy";
const version = "1.0.0";
const env = "local";

exports.createApp = function createApp() {
  const app = express();
  const logger = createLogger({ service, version, env }); // @svc/log
  const measure = metrics({ service, version }); // @svc/metrics
  const things = new Map([["1", { id: "1", name: "a thing" }]]);

  // Before the routes, in this order.
  app.use(requestId()); // @svc/request-id
  app.use(accessLog({ logger })); // @svc/log
  app.use(measure); // @svc/metrics
  app.use(jsonBody()); // @svc/json-body; express.json() may stay instead
  app.use(openapi({ title: service, version })); // @svc/openapi: /openapi.json and /docs

  const aThing = describes({
    summary: "Returns a thing",
    responses: { 200: "The thing", 404: "No thing has this id" },
  }); // @svc/openapi
  app.get("/things/:id", aThing, (req, res, next) => {
    const thing = things.get(req.params.id);
    // Express 4 receives errors through next(), and also catches errors that are thrown synchronously.
    if (thing === undefined)
      next(notFoundError("no thing has this id")); // @svc/problem
    else res.json(thing);
  });
  app.put("/things/:id", (req, res) => {
    const { id } = req.params;
    if (!things.has(id)) throw notFoundError("no thing has this id"); // @svc/problem
    things.set(id, { id, name: String(req.body?.name) });
    res.json({ saved: id, request_id: contextOf(req)?.requestId });
  });

  // After the routes.
  app.get("/metrics", measure.handler); // @svc/metrics
  app.use(health({ service, version, env })); // @svc/health
  app.use(notFound()); // @svc/problem: 404 and 405
  app.use(problemHandler({ logger })); // @svc/problem: every error becomes a problem; { logger } needs @svc/log
  return app;
};
