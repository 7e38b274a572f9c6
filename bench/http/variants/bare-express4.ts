import { createServer } from "node:http";
import express from "express4";
import type { Subject } from "../../harness/subject.ts";
import { httpSubject } from "../http-subject.ts";
import { item, routePath } from "../route.ts";

/** Starts Express 4 with its defaults and one route. */
export async function start(): Promise<Subject> {
  const app = express();
  app.get(routePath, (req, res) => {
    res.json(item(req.params["id"] ?? ""));
  });
  return httpSubject(createServer(app));
}
