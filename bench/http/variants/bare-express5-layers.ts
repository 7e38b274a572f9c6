import { AsyncLocalStorage } from "node:async_hooks";
import { hash, randomFillSync } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import express, { type RequestHandler } from "express";
import type { Subject } from "../../harness/subject.ts";
import { mintTokens, trafficWith } from "../access.ts";
import { httpSubject } from "../http-subject.ts";
import { routePath, item } from "../route.ts";
import { createIssuer } from "../tokens.ts";

/**
 * Starts Express 5 with as many layers as `full-packages`, which do only the unavoidable work: generate and return a
 * request id, set an async context, listen for the end of the response, and look up a token by its hash. They read no
 * trace, claim, clock, revocation or tenant, and record no metrics.
 */
export async function start(): Promise<Subject> {
  const tokens = mintTokens(createIssuer("HS256"), 64);
  const known = new Map(tokens.map((token) => [hash("sha256", token, "binary"), token.length]));
  const storage = new AsyncLocalStorage<object>();
  const bytes = Buffer.allocUnsafeSlow(1024);
  let ids = "";
  let next = 0;
  const ended = (): void => undefined;
  const layers: readonly RequestHandler[] = [
    (_req, res, go) => {
      if (next === ids.length) [ids, next] = [randomFillSync(bytes).toString("hex"), 0];
      res.setHeader("X-Request-ID", ids.slice(next, (next += 32)));
      storage.run({}, go);
    },
    (_req, _res, go) => go(),
    (_req, res, go) => {
      res.on("close", ended);
      go();
    },
    (req: IncomingMessage, _res, go) => {
      const token = req.headers.authorization?.slice("Bearer ".length) ?? "";
      if (known.get(hash("sha256", token, "binary")) !== token.length) throw new Error("unknown token");
      go();
    },
    (_req, _res, go) => go(),
  ];
  const guard: RequestHandler = (_req, _res, go) => go();
  const app = express();
  for (const layer of layers) app.use(layer);
  app.get<string, { id: string }>(routePath, guard as never, guard as never, (req, res) => {
    res.json(item(req.params.id));
  });
  return httpSubject(createServer(app), undefined, trafficWith(tokens));
}
