import { createServer, type Server } from "node:http";
import express, { type Express } from "express";
import type { Subject } from "../../harness/subject.ts";
import { httpSubject } from "../http-subject.ts";
import { type Claims, proofOf } from "../proof.ts";
import { addRoute } from "../route.ts";

interface Addition {
  /** Adds the package before the route. */
  front?(app: Express): Promise<Claims>;
  /** Adds the package after the route. */
  behind?(app: Express): Promise<Claims>;
  /** Creates the server. Default: a plain `node:http` server. */
  server?(app: Express): Promise<Server>;
}

// Import these on demand, so that a process loads only the package of its own case.
const additions: Readonly<Record<string, Addition>> = {
  "request-id": {
    async front(app) {
      const { requestId } = await import("@svc/request-id");
      app.use(requestId());
      return { requestId: true };
    },
  },
  "log-warn": { front: (app) => addLog(app, "warn") },
  "log-info": { front: (app) => addLog(app, "info") },
  metrics: {
    async front(app) {
      const { metrics } = await import("@svc/metrics");
      const middleware = metrics();
      app.use(middleware);
      return { registry: middleware.registry };
    },
  },
  health: {
    async front(app) {
      const { health } = await import("@svc/health");
      app.use(health({ service: "bench", version: "1.0.0", env: "prod" }));
      return {};
    },
  },
  "json-body": {
    async front(app) {
      const { jsonBody } = await import("@svc/json-body");
      app.use(jsonBody());
      return {};
    },
  },
  problem: {
    async behind(app) {
      const { notFound, problemHandler } = await import("@svc/problem");
      app.use(notFound());
      app.use(problemHandler());
      return { problems: true };
    },
  },
  "problem-server": {
    async server(app) {
      const { attachProblems, problemServerOptions } = await import("@svc/problem");
      const server = createServer(problemServerOptions, app);
      attachProblems(server);
      return server;
    },
  },
  serve: {
    async server(app) {
      const { serve } = await import("@svc/express");
      const serving = await serve(app, { host: "127.0.0.1", port: 0, signals: false });
      return serving.server;
    },
  },
};

/** Starts bare Express 5 with one package. Setting: the name of the package. */
export async function start(setting: string): Promise<Subject> {
  const addition = additions[setting];
  if (addition === undefined) throw new Error(`there is no case for the package ${setting}`);
  const app = express();
  const front = await addition.front?.(app);
  addRoute(app);
  const behind = await addition.behind?.(app);
  const server = (await addition.server?.(app)) ?? createServer(app);
  return httpSubject(server, proofOf({ ...front, ...behind }));
}

async function addLog(app: Express, level: "info" | "warn"): Promise<Claims> {
  const { accessLog, createLogger } = await import("@svc/log");
  const { createLogTap } = await import("../log-tap.ts");
  const tap = createLogTap();
  const logger = createLogger({ service: "bench", env: "prod", level, destination: tap });
  app.use(accessLog({ logger }));
  return { log: { tap, logger, level } };
}
