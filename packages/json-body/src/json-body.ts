import { AsyncLocalStorage } from "node:async_hooks";
import type { IncomingMessage } from "node:http";
import { contextOf, currentContext, type Middleware, runWithContext } from "@svc/context";
import type { ProblemError } from "@svc/problem";
import { classify, hasBody } from "./content-type.ts";
import { tooLarge, unsupported } from "./faults.ts";
import { acceptedEncodings, inflaterOf } from "./inflate.ts";
import { type JsonBodyOptions, jsonBodyOptions } from "./options.ts";
import { parseJson } from "./parse-json.ts";
import { isRefusing, refuseWhileUnread } from "./refuse-unread.ts";
import { readBody } from "./read-body.ts";

interface WithBody extends IncomingMessage {
  body?: unknown;
  /** body-parser ignores a request with this mark. */
  _body?: boolean;
}

/**
 * Parses JSON bodies (`application/json` and `+json` types) into `req.body`, within limits. Ignores requests without a
 * body, bodies that other code has parsed or read, and other types unless `otherTypes` is `refuse`. Every other client
 * fault results in a 4xx problem (ERR-18, ERR-19, LIM-1 to LIM-3).
 *
 * @throws ConfigurationError for unknown or invalid options
 */
export function jsonBody(options?: JsonBodyOptions): Middleware {
  const { maxBytes, maxDepth, inflate, strict, otherTypes } = jsonBodyOptions.resolve(options);
  const rules = { maxDepth, strict };

  function receive(req: WithBody, proceed: (error?: unknown) => void): void {
    const inflater = inflaterOf(req.headers["content-encoding"]);
    const accept = (fault: ProblemError | undefined, bytes: Buffer): void => {
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
    readBody(req, maxBytes, (fault, bytes) => {
      if (fault !== undefined || typeof inflater !== "function" || bytes.length === 0) accept(fault, bytes);
      else inflater(bytes, maxBytes, accept);
    });
  }

  return function jsonBodyMiddleware(req: WithBody, res, next): void {
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
    const refusal = refusalOf(req, kind, maxBytes, inflate);
    if (refusal !== undefined) {
      next(refusal);
      return;
    }
    req._body = true;
    receive(req, inSameContext(req, next));
  };
}

/**
 * Returns a request's parsed body; undefined without a body, or if no parser has read it. Never throws, even if
 * `otherTypes` makes `req.body` throw.
 */
export function bodyOf(req: IncomingMessage): unknown {
  return isRefusing(req) ? undefined : (req as WithBody).body;
}

function refusalOf(
  req: IncomingMessage,
  kind: "json" | "charset",
  maxBytes: number,
  inflate: boolean,
): ProblemError | undefined {
  if (Number(req.headers["content-length"] ?? 0) > maxBytes) return tooLarge(maxBytes);
  if (kind === "charset")
    return unsupported(req, "ERR_SVC_BODY_CHARSET", "the charset of a JSON body must be utf-8");
  const inflater = inflaterOf(req.headers["content-encoding"]);
  if (inflater === undefined || (inflate && inflater !== "unknown")) return undefined;
  const accepted = inflate ? acceptedEncodings : "identity";
  return unsupported(req, "ERR_SVC_BODY_ENCODING", `the content encoding must be one of: ${accepted}`, {
    "Accept-Encoding": accepted,
  });
}

// Returns a `next()` that keeps the current async contexts of this project and of other libraries, because listeners of
// a request run outside of them.
function inSameContext(req: IncomingMessage, next: (error?: unknown) => void): (error?: unknown) => void {
  const restore = AsyncLocalStorage.snapshot();
  return (error) => {
    restore(() => {
      const context = contextOf(req);
      // An earlier reader may have lost the context already, before the snapshot was taken.
      if (context !== undefined && currentContext() !== context) runWithContext(context, () => next(error));
      else next(error);
    });
  };
}
