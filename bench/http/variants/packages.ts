import { createServer } from "node:http";
import { tune } from "@svc/express";
import { health } from "@svc/health";
import { accessLog, createLogger } from "@svc/log";
import { metrics } from "@svc/metrics";
import { notFound, problemHandler } from "@svc/problem";
import { requestId } from "@svc/request-id";
import express from "express";
import type { Subject } from "../../harness/subject.ts";
import { httpSubject } from "../http-subject.ts";
import { createLogTap } from "../log-tap.ts";
import { proofOf } from "../proof.ts";
import { addRoute } from "../route.ts";

/**
 * Starts an application that uses the single packages. Setting: the log level `info` or `warn`, or `tuned` for level `warn`
 * in an application passed to `tune()`.
 */
export async function start(setting: string): Promise<Subject> {
  const level = setting === "info" ? "info" : "warn";
  const tap = createLogTap();
  const logger = createLogger({ service: "bench", env: "prod", level, destination: tap });
  const counted = metrics({ service: "bench", version: "1.0.0" });
  const app = express();
  const classes = setting === "tuned" ? tune(app) : {};
  app.use(requestId());
  app.use(accessLog({ logger }));
  app.use(counted);
  addRoute(app);
  app.use(health({ service: "bench", version: "1.0.0", env: "prod" }));
  app.use(notFound());
  app.use(problemHandler({ logger }));
  const claims = {
    requestId: true,
    registry: counted.registry,
    log: { tap, logger, level },
    problems: true,
  } as const;
  return httpSubject(createServer(classes, app), proofOf(claims));
}
