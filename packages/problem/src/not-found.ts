import type { IncomingMessage, ServerResponse } from "node:http";
import { pathOfTarget } from "@svc/context";
import { type AllowedMethods, allowedMethods, pathWithin } from "./routes.ts";
import { sendProblem } from "./send.ts";

interface ExpressRequest extends IncomingMessage {
  readonly app?: unknown;
  readonly baseUrl?: unknown;
}

/** Middleware that can also be the request listener of a bare server. */
export type LastMiddleware = (
  req: IncomingMessage,
  res: ServerResponse,
  next?: (error?: unknown) => void,
) => void;

const NOT_FOUND = { status: 404, detail: "Not Found" } as const;

/**
 * Responds to requests that no route has handled: with 404, or with 405 and `Allow` if the path exists for another method
 * (ERR-9 to ERR-11). Leaves an OPTIONS request for an existing path to Express, and responds with `Allow` where Express
 * does not, as for routes of `@svc/openapi`. Mount it after all routes and before `problemHandler()`; on a bare server it
 * responds to every request with 404.
 */
export function notFound(): LastMiddleware {
  return function notFoundMiddleware(req, res, next): void {
    const { methods, hasOptions } = methodsOf(req);
    const allow = [...methods].sort().join(", ");
    if (methods.size === 0 || methods.has(req.method ?? "")) sendProblem(req, res, NOT_FOUND);
    else if (req.method !== "OPTIONS" || next === undefined) sendNotAllowed(req, res, allow);
    else if (hasOptions) next();
    else sendOptions(res, allow);
  };
}

const NONE: AllowedMethods = { methods: new Set(), hasOptions: true };

function methodsOf(req: ExpressRequest): AllowedMethods {
  const { app } = req;
  if (app === undefined) return NONE;
  const base = typeof req.baseUrl === "string" ? req.baseUrl : "";
  return allowedMethods(app, pathWithin(app, base, pathOfTarget(req.url ?? "/")));
}

function sendNotAllowed(req: IncomingMessage, res: ServerResponse, allow: string): void {
  sendProblem(req, res, { status: 405, detail: "Method Not Allowed", headers: { Allow: allow } });
}

/** Answers as Express 5 does for its own routes. */
function sendOptions(res: ServerResponse, allow: string): void {
  res.setHeader("Allow", allow);
  res.setHeader("Content-Type", "text/plain");
  res.setHeader("X-Content-Type-Options", "nosniff");
  res.end(allow);
}
