import type { IncomingMessage, ServerResponse } from "node:http";
import type { Middleware } from "@svc/context";
import { classify, hasBody } from "./content-type.ts";
import { alreadyRead } from "./faults.ts";
import { type JsonBodyOptions, jsonBodyOptions } from "./options.ts";
import { wrongType } from "./media-types.ts";
import { parseJson } from "./parse-json.ts";
import { receiveBody, refusalByHeaders } from "./receive-body.ts";
import { isRefusing, refuseWhileUnread } from "./refuse-unread.ts";
import { inSameContext } from "./same-context.ts";
import { receiveVerifiedBody } from "./verify-body.ts";
import { verifyFaultLog } from "./verify-fault.ts";

interface WithBody extends IncomingMessage {
  body?: unknown;
  /** body-parser skips a request in which this is true. */
  _body?: boolean;
}

/**
 * Parses JSON bodies (`application/json` and `+json` types) into `req.body`, within limits. Ignores requests without a
 * body, bodies that other code has parsed or read, and other types unless `otherTypes` is `refuse`. Every other client
 * fault results in a 4xx problem (ERR-18, ERR-19, LIM-1 to LIM-3). With `verify`, every request is verified except GET, HEAD
 * and OPTIONS without a body; a body of another type gets a 415, and a body that other code has read a 500.
 *
 * @throws ConfigurationError for unknown or invalid options
 */
export function jsonBody(options?: JsonBodyOptions): Middleware {
  const { maxBytes, maxDepth, inflate, strict, otherTypes, verify } = jsonBodyOptions.resolve(options);
  const limits = { maxBytes, inflate };
  const rules = { maxDepth, strict };
  const report = verifyFaultLog();

  function receive(req: WithBody, res: ServerResponse, proceed: (error?: unknown) => void): void {
    const done = (fault: unknown, bytes: Buffer): void => {
      if (fault !== undefined || bytes.length === 0) {
        proceed(fault);
        return;
      }
      const parsed = parseJson(bytes, rules);
      if ("fault" in parsed) proceed(parsed.fault);
      else {
        req.body = parsed.value;
        proceed();
      }
    };
    if (verify === undefined) receiveBody(req, maxBytes, done);
    else receiveVerifiedBody(req, res, { maxBytes, verify, report }, done);
  }

  function jsonBodyMiddleware(req: WithBody, res: ServerResponse, next: (error?: unknown) => void): void {
    if (!hasBody(req) || isRefusing(req) || req._body === true || req.readableDidRead) {
      next();
      return;
    }
    const kind = classify(req.headers["content-type"]);
    if (kind === "other") {
      if (otherTypes === "refuse" && req.body === undefined) refuseWhileUnread(req, res);
      next();
      return;
    }
    const charset = kind === "charset" ? "the charset of a JSON body must be utf-8" : undefined;
    const refusal = refusalByHeaders(req, limits, charset);
    if (refusal !== undefined) {
      next(refusal);
      return;
    }
    req._body = true;
    receive(req, res, inSameContext(req, next));
  }

  if (verify === undefined) return jsonBodyMiddleware;
  // No request may reach the handler unverified.
  return function verifiedJsonBodyMiddleware(req: WithBody, res, next): void {
    if (!hasBody(req) && SAFE_METHODS.has(req.method ?? "")) next();
    else if (req._body === true || req.readableDidRead) next(alreadyRead("jsonBody({ verify })"));
    else if (!hasBody(req)) {
      req._body = true;
      receive(req, res, inSameContext(req, next));
    } else if (classify(req.headers["content-type"]) === "other") next(wrongType(req, JSON_TYPES));
    else jsonBodyMiddleware(req, res, next);
  };
}

const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);
const JSON_TYPES: readonly string[] = ["application/json", "application/*+json"];

/**
 * Returns a request's parsed body; undefined without a body, or if no parser has read it. Never throws, even if
 * `otherTypes` makes `req.body` throw.
 */
export function bodyOf(req: IncomingMessage): unknown {
  return isRefusing(req) ? undefined : (req as WithBody).body;
}
