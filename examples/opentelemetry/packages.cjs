// A plain Express application in CommonJS with single packages. It has no code for OpenTelemetry.
const express = require("express");
const { accessLog, createLogger } = require("@svc/log");
const { notFound, problemHandler } = require("@svc/problem");
const { propagationHeaders, requestId } = require("@svc/request-id");

const logger = createLogger({ service: "orders", env: "local" });
const app = express();
app.use(requestId(), accessLog({ logger }));
// A real handler passes these headers to fetch().
app.get("/orders/:id", (_req, res) => res.json(propagationHeaders()));
app.use(notFound(), problemHandler({ logger }));

const server = app.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => {
  console.error(`http://127.0.0.1:${server.address().port}/orders/7`);
});
