import { createServer } from "node:http";
import express from "express4";
import type { Subject } from "../../harness/subject.ts";
import { httpSubject } from "../http-subject.ts";
import { item, routePath } from "../route.ts";

/** Starts the same with Express 4. */
export async function start(): Promise<Subject> {
  const app = express();
  app.get(routePath, (req, res) => {
    res.json(item(req.params["id"] ?? ""));
  });
  return httpSubject(createServer(app));
}
