import { createServer } from "node:http";
import { tune } from "@svc/express";
import express from "express";
import type { Subject } from "../../harness/subject.ts";
import { httpSubject } from "../http-subject.ts";
import { addRoute } from "../route.ts";

/** Starts Express 5, only tuned by `tune()` and without X-Powered-By: the fair base for the service. */
export async function start(): Promise<Subject> {
  const app = express();
  app.disable("x-powered-by");
  addRoute(app);
  return httpSubject(createServer(tune(app), app));
}
