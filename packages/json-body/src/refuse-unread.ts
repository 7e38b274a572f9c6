import type { IncomingMessage, ServerResponse } from "node:http";
import { type ProblemError, sendProblem } from "@svc/problem";
import { unsupported } from "./faults.ts";

/** Marks a request whose `body` answers 415 while nothing has read it. Shared by all copies of this package. */
const UNREAD: unique symbol = Symbol.for("@svc/json-body/unread") as never;

interface Refusing extends IncomingMessage {
  body?: unknown;
  _body?: unknown;
  [UNREAD]?: true;
  /** Set by both majors of Express when a route matches, and kept behind it. */
  readonly route?: unknown;
  params?: unknown;
}

/** What each refusal is the answer to. */
const refused = new WeakMap<object, { readonly req: IncomingMessage; readonly res: ServerResponse }>();

/**
 * Makes reading `req.body` in a route throw a 415 problem while nothing has set it or begun to read the request (ERR-18). A
 * parser of the route replaces it by setting `req.body`. Middleware and error handlers see undefined: a parser may follow, and
 * a refusal there would hide the error.
 */
export function refuseWhileUnread(req: Refusing, res: ServerResponse): void {
  // Parsers for Express 4 read `_body`, then write `req.body = req.body || {}`, whether or not the type is theirs.
  let parser: "none" | "asks" | "sets" = "none";
  let { params, route } = req;
  let isInRoute = route !== undefined;

  function settle(name: "body" | "_body", value: unknown): void {
    for (const key of ["body", "_body", UNREAD] as const) delete req[key];
    req[name] = value;
  }

  Object.defineProperties(req, {
    [UNREAD]: { configurable: true, value: true },
    body: {
      configurable: true,
      get() {
        const isParser = parser === "asks";
        parser = isParser ? "sets" : "none";
        // Once an answer has begun or the client has gone, an error could only do harm.
        const canAnswer = !res.headersSent && !res.destroyed;
        if (!isParser && isInRoute && canAnswer && isUnread(req)) throw refusalOf(req, res);
        return undefined;
      },
      set(value: unknown) {
        const isPlaceholder = parser === "sets" && isEmptyObject(value);
        parser = "none";
        if (!isPlaceholder) settle("body", value);
      },
    },
    _body: {
      configurable: true,
      get() {
        parser = "asks";
        return false;
      },
      set(value: unknown) {
        settle("_body", value);
      },
    },
    // Both majors set `params` for each layer that they run, and `route` just before if that layer is a route.
    params: {
      configurable: true,
      enumerable: true,
      get: () => params,
      set(value: unknown) {
        params = value;
        isInRoute = req.route !== route;
        route = req.route;
      },
    },
  });
}

/** Whether the `body` of a request may throw. */
export function isRefusing(req: Refusing): boolean {
  return req[UNREAD] === true;
}

/**
 * Sends a refusal that reached no error handler, and reports whether the error was one. For listeners of
 * `unhandledRejection` and `uncaughtException`: Express 4 ignores the promise of a handler, and neither major sees what a
 * callback throws, so a client could end the process by a wrong content type.
 */
export function answerRefusal(error: unknown): boolean {
  const answer = typeof error === "object" && error !== null ? refused.get(error) : undefined;
  if (answer === undefined) return false;
  const { req, res } = answer;
  if (!res.headersSent) sendProblem(req, res, error as ProblemError);
  return true;
}

function refusalOf(req: IncomingMessage, res: ServerResponse): ProblemError {
  const detail = "no parser of this route takes a body of this content type";
  const fault = unsupported(req, "ERR_SVC_CONTENT_TYPE", detail, {
    Accept: "application/json, application/*+json",
  });
  refused.set(fault, { req, res });
  return fault;
}

// A listener, a pipe and an iteration all change `readableFlowing` before the first chunk arrives.
function isUnread(req: IncomingMessage): boolean {
  const isEmpty = req.complete && req.readableLength === 0;
  return req.readableFlowing === null && !req.readableDidRead && !isEmpty;
}

function isEmptyObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}
