import { openSync } from "node:fs";
import { createServer } from "node:http";
import { devNull } from "node:os";
import express from "express";
import helmet from "helmet";
import { pino } from "pino";
import { pinoHttp } from "pino-http";
import rTracer from "cls-rtracer";
import { expectEqual } from "../../harness/expect-equal.ts";
import type { Subject } from "../../harness/subject.ts";
import { httpSubject } from "../http-subject.ts";
import { addRoute, urlOf } from "../route.ts";

/** Starts a common combination of other packages, each with its defaults. Setting: the log level, `info` or `warn`. */
export async function start(level: string): Promise<Subject> {
  const app = express();
  app.use(helmet());
  app.use(rTracer.expressMiddleware({ echoHeader: true }));
  const logger = pino({ level }, pino.destination(openSync(devNull, "w")));
  app.use(pinoHttp({ logger }));
  addRoute(app);
  return httpSubject(createServer(app), async (injector) => {
    const { headers } = await injector.send("GET", urlOf(0));
    expectEqual("a request id", headers["x-request-id"] !== undefined, true);
    expectEqual("X-Content-Type-Options", headers["x-content-type-options"], "nosniff");
    expectEqual("the level", logger.level, level);
  });
}
