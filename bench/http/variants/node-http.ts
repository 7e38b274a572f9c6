import { createServer } from "node:http";
import type { Subject } from "../../harness/subject.ts";
import { httpSubject } from "../http-subject.ts";
import { item } from "../route.ts";

/** Starts a server without a framework: the lowest possible cost. */
export async function start(): Promise<Subject> {
  const server = createServer((req, res) => {
    const match = /^\/api\/items\/([^/?]+)$/.exec(req.url ?? "");
    if (match === null || req.method !== "GET") {
      res.statusCode = 404;
      res.end();
      return;
    }
    const body = JSON.stringify(item(match[1] ?? ""));
    res.setHeader("Content-Type", "application/json; charset=utf-8");
    res.setHeader("Content-Length", Buffer.byteLength(body));
    res.end(body);
  });
  return httpSubject(server);
}
