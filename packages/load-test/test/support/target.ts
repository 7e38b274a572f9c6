import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { listen, type Listening } from "@svc/test-support";

/** A service under test, which records what it received. */
export interface Target extends Listening {
  /** Requests other than those to `/openapi.json` and `/ready`, as `METHOD path`. */
  readonly received: string[];
  /** Every request with its headers. */
  readonly requests: { readonly line: string; readonly headers: IncomingMessage["headers"]; body: string }[];
}

/** The responses of a target. */
export interface TargetOptions {
  /** The description; a string is sent as it is. Default: one route, `GET /items`. */
  readonly description?: unknown;
  readonly descriptionStatus?: number;
  /** The checks of `/ready`. Default: none. */
  readonly checks?: Readonly<Record<string, unknown>>;
  /** Answers all other requests. Default: 200 with a JSON object. */
  readonly answer?: (req: IncomingMessage, res: ServerResponse) => void;
}

export const oneRoute = { openapi: "3.1.0", paths: { "/items": { get: {} } } };

/** Starts a service that serves its own description. */
export async function startTarget({
  description = oneRoute,
  descriptionStatus = 200,
  checks = {},
  answer = answerJson,
}: TargetOptions = {}): Promise<Target> {
  const requests: Target["requests"] = [];
  const received: string[] = [];
  const handler: RequestListener = (req, res) => {
    const line = `${req.method} ${req.url}`;
    const record = { line, headers: req.headers, body: "" };
    requests.push(record);
    req.on("data", (piece: Buffer) => (record.body += piece.toString()));
    if (req.url?.endsWith("/openapi.json") === true) {
      res.statusCode = descriptionStatus;
      res.setHeader("content-type", "application/json");
      res.end(typeof description === "string" ? description : JSON.stringify(description));
      return;
    }
    if (req.url?.endsWith("/ready") === true) {
      res.end(JSON.stringify({ status: "ok", service: "target", checks }));
      return;
    }
    received.push(line);
    answer(req, res);
  };
  const listening = await listen(handler);
  return Object.assign(listening, { received, requests });
}

function answerJson(_req: IncomingMessage, res: ServerResponse): void {
  res.setHeader("content-type", "application/json");
  res.end("{}");
}
