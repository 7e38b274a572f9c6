import type { IncomingMessage, ServerResponse } from "node:http";
import { pathOf } from "./document.ts";
import { allowedMethods, pathWithin } from "./routes.ts";
import { sendProblem } from "./send.ts";

interface ExpressRequest extends IncomingMessage {
  readonly app?: unknown;
  readonly baseUrl?: unknown;
}

/** Middleware that is also the whole listener of a bare server. */
export type LastMiddleware = (
  req: IncomingMessage,
  res: ServerResponse,
  next?: (error?: unknown) => void,
) => void;

const NOT_FOUND = { status: 404, detail: "Not Found" } as const;

/**
 * Answers what no route has answered: 404, or 405 with `Allow` when the path exists for another method (ERR-9 to
 * ERR-11). An OPTIONS request for a path that exists is left to Express, which answers it. Goes behind all routes, in
 * front of `problemHandler()`; on a bare server it answers 404 to everything.
 */
export function notFound(): LastMiddleware {
  return function notFoundMiddleware(req, res, next): void {
    const methods = methodsOf(req);
    if (methods.size === 0 || methods.has(req.method ?? "")) sendProblem(req, res, NOT_FOUND);
    else if (req.method === "OPTIONS" && next !== undefined) next();
    else sendNotAllowed(req, res, methods);
  };
}

const NONE: ReadonlySet<string> = new Set();

function methodsOf(req: ExpressRequest): ReadonlySet<string> {
  const { app } = req;
  if (app === undefined) return NONE;
  const base = typeof req.baseUrl === "string" ? req.baseUrl : "";
  return allowedMethods(app, pathWithin(app, pathOf(base + (req.url ?? "/"))));
}

function sendNotAllowed(req: IncomingMessage, res: ServerResponse, methods: ReadonlySet<string>): void {
  const allow = [...methods].sort().join(", ");
  sendProblem(req, res, { status: 405, detail: "Method Not Allowed", headers: { Allow: allow } });
}
