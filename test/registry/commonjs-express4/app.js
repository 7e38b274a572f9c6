const { health } = require("@svc/health");
const { jsonBody } = require("@svc/json-body");
const { jwtAuth, principalOf, requireScopes } = require("@svc/jwt-auth");
const { accessLog, createLogger } = require("@svc/log");
const { metrics } = require("@svc/metrics");
const { notFound, problemHandler } = require("@svc/problem");
const { requestId } = require("@svc/request-id");
const express = require("express");

/** Returns the application; `destination` gets its log lines. */
exports.ordersApp = function ordersApp({ secret, destination }) {
  const logger = createLogger({ service: "orders", env: "local", destination });
  const counted = metrics({ service: "orders" });
  const app = express();
  app.use(requestId(), counted, accessLog({ logger }));
  app.use(health({ service: "orders", version: "1.2.3", env: "local" }));
  app.get("/metrics", counted.handler);
  app.use(jwtAuth({ secret, issuer: "https://issuer.example", audience: "orders", logger }), jsonBody());
  app.post("/orders", requireScopes("orders:write"), (req, res) => {
    res.status(201).json({ id: req.body.id, by: principalOf(req).subject });
  });
  app.use(notFound(), problemHandler({ logger }));
  return app;
};
