import type { IncomingMessage, ServerResponse } from "node:http";
import { type ProblemError, sendProblem } from "@svc/problem";
import { FORM_TYPE } from "./content-type.ts";
import { unsupported } from "./faults.ts";

/**
 * Marks a request whose `body` getter throws a 415 while the request has not been read. All copies of this package use the
 * same symbol.
 */
const UNREAD: unique symbol = Symbol.for("@svc/json-body/unread") as never;

interface Refusing extends IncomingMessage {
  body?: unknown;
  _body?: unknown;
  [UNREAD]?: true;
  /** Both major versions of Express set this when a route matches, and keep it afterwards. */
  readonly route?: unknown;
  params?: unknown;
}

/** The request and response that belong to each refusal. */
const refused = new WeakMap<object, { readonly req: IncomingMessage; readonly res: ServerResponse }>();

/** The requests of another type that `formBody()` has passed to `next()`. */
const passedFormBody = new WeakSet<IncomingMessage>();

/** Adds forms to the accepted types that a 415 for this request lists. */
export function alsoAcceptForms(req: IncomingMessage): void {
  passedFormBody.add(req);
}

/** The types that `textBody()` reads, for each request of another type that it has passed to `next()`. */
const passedTextBody = new WeakMap<IncomingMessage, string>();

/** Adds these types to the accepted types that a 415 for this request lists. */
export function alsoAcceptTexts(req: IncomingMessage, types: string): void {
  passedTextBody.set(req, types);
}

/**
 * Makes reading `req.body` in a route throw a 415 problem until code sets it or starts reading the request (ERR-18). A
 * parser in the route replaces the property by setting `req.body`. Middleware sees undefined, because a parser may
 * follow. Error handlers see undefined too, because a refusal there would hide their error.
 */
export function refuseWhileUnread(req: Refusing, res: ServerResponse): void {
  // Parsers for Express 4 read `_body` and then write `req.body = req.body || {}`, even for types that they do not parse.
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
        // After a response has begun or the client has disconnected, an error response can no longer be sent.
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
    // Both major versions set `params` for each layer that they run. If the layer is a route, they set `route` just
    // before.
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

/** Returns whether a request's `body` may throw. */
export function isRefusing(req: Refusing): boolean {
  return req[UNREAD] === true;
}

/**
 * Sends a refusal that reached no error handler. Returns whether the error was a refusal. For listeners on
 * `unhandledRejection` and `uncaughtException`: Express 4 ignores a handler's promise, and no version sees an error
 * thrown in a callback, so a client could end the process with a wrong content type.
 */
export function answerRefusal(error: unknown): boolean {
  const answer = typeof error === "object" && error !== null ? refused.get(error) : undefined;
  if (answer === undefined) return false;
  const { req, res } = answer;
  if (!res.headersSent) sendProblem(req, res, error as ProblemError);
  return true;
}

const JSON_TYPES = "application/json, application/*+json";

function refusalOf(req: IncomingMessage, res: ServerResponse): ProblemError {
  const detail = "no parser of this route accepts a body of this content type";
  const types = [JSON_TYPES, passedFormBody.has(req) ? FORM_TYPE : undefined, passedTextBody.get(req)];
  const fault = unsupported(req, "ERR_SVC_CONTENT_TYPE", detail, {
    Accept: types.filter((type) => type !== undefined).join(", "),
  });
  refused.set(fault, { req, res });
  return fault;
}

// Listeners, pipes and iterations change `readableFlowing` before the first chunk arrives.
function isUnread(req: IncomingMessage): boolean {
  const isEmpty = req.complete && req.readableLength === 0;
  return req.readableFlowing === null && !req.readableDidRead && !isEmpty;
}

function isEmptyObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}
