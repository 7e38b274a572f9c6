// An Express 4 application from before modules. require() of the packages works as it is: they have no top-level await.
const express = require("express");
const { contextOf } = require("@svc/context");
const { health } = require("@svc/health");
const { jsonBody } = require("@svc/json-body");
const { accessLog, createLogger } = require("@svc/log");
const { metrics } = require("@svc/metrics");
const { notFound, notFoundError, problemHandler } = require("@svc/problem");
const { requestId } = require("@svc/request-id");

exports.createApp = function createApp({ destination } = {}) {
  const logger = createLogger({ service: "legacy", env: "local", destination });
  const measured = metrics({ service: "legacy", version: "1.0.0" });
  const things = new Map([["1", { id: "1", name: "a thing" }]]);
  const app = express();

  app.use(requestId());
  app.use(accessLog({ logger }));
  app.use(measured);
  app.use(jsonBody());

  app.get("/things/:id", (req, res, next) => {
    const thing = things.get(req.params.id);
    if (thing === undefined) return next(notFoundError("no thing has this id"));
    res.json(thing);
  });
  app.put("/things/:id", (req, res) => {
    things.set(req.params.id, { ...req.body, id: req.params.id });
    res.json({ saved: req.params.id, request_id: contextOf(req).requestId });
  });

  app.get("/metrics", measured.handler);
  app.use(health({ service: "legacy", version: "1.0.0", env: "local" }));
  app.use(notFound(), problemHandler({ logger }));
  return app;
};
