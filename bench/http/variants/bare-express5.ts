import { createServer } from "node:http";
import express from "express";
import type { Subject } from "../../harness/subject.ts";
import { httpSubject } from "../http-subject.ts";
import { addRoute } from "../route.ts";

/** Starts Express 5 with its defaults and one route: the base of all comparisons. */
export async function start(): Promise<Subject> {
  const app = express();
  addRoute(app);
  return httpSubject(createServer(app));
}
