import { createServer } from "node:http";
import { tune } from "@svc/express";
import express from "express";
import type { Subject } from "../../harness/subject.ts";
import { httpSubject } from "../http-subject.ts";
import { addRoute } from "../route.ts";

/** Express 5 tuned by `tune()` and without X-Powered-By, and nothing else: the fair base for what the service adds. */
export async function start(): Promise<Subject> {
  const app = express();
  app.disable("x-powered-by");
  addRoute(app);
  return httpSubject(createServer(tune(app), app));
}
