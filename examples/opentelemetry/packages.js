// A plain Express application in an ES module with single packages. It has no code for OpenTelemetry.
import express from "express";
import { accessLog, createLogger } from "@svc/log";
import { notFound, problemHandler } from "@svc/problem";
import { propagationHeaders, requestId } from "@svc/request-id";

const logger = createLogger({ service: "orders", env: "local" });
const app = express();
app.use(requestId(), accessLog({ logger }));
// A real handler passes these headers to fetch().
app.get("/orders/:id", (_req, res) => res.json(propagationHeaders()));
app.use(notFound(), problemHandler({ logger }));

const server = app.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => {
  console.error(`http://127.0.0.1:${server.address().port}/orders/7`);
});
