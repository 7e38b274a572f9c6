import type { IncomingMessage, ServerResponse } from "node:http";
import type { Middleware } from "@svc/context";
import { defineOptions, kinds as k, type OptionsOf } from "@svc/options";
import { sendProblem, silence } from "@svc/problem";
import { hasBody } from "./content-type.ts";
import { tooLarge } from "./faults.ts";

const bodyLimitOptions = defineOptions("bodyLimit()", {
  /** The largest body of any type, in bytes as sent (LIM-1). Default: 2,097,152 (2 MiB). */
  maxBytes: { kind: k.withDefault(k.integer({ min: 1 }), 2 * 1024 * 1024) },
});

/** Options of `bodyLimit()`. */
export type BodyLimitOptions = OptionsOf<typeof bodyLimitOptions>;

/**
 * Limits bodies of every type, including those that the application reads as a stream. Refuses a `Content-Length` over the
 * limit before the body is read (LIM-2). Counts a chunked body as it arrives (LIM-3): over the limit, the client gets a
 * 413 and the reader of the stream an error. `jsonBody()` has its own limit and does not need this.
 *
 * @throws ConfigurationError for unknown or wrong options
 */
export function bodyLimit(options?: BodyLimitOptions): Middleware {
  const { maxBytes } = bodyLimitOptions.resolve(options);
  return function bodyLimitMiddleware(req, res, next) {
    if (!hasBody(req)) {
      next();
      return;
    }
    const length = req.headers["content-length"];
    if (length === undefined) countChunks(req, res, maxBytes);
    else if (Number(length) > maxBytes) {
      next(tooLarge(maxBytes));
      return;
    }
    next();
  };
}

// The HTTP parser passes every chunk to `push`, so this counts for every way of reading a request.
function countChunks(req: IncomingMessage, res: ServerResponse, maxBytes: number): void {
  const push = req.push.bind(req);
  let received = 0;
  req.push = (chunk: unknown, encoding?: BufferEncoding): boolean => {
    if (received > maxBytes) {
      // The client has sent everything. Do not pass on the end: a reader would take the partial body for a complete one.
      if (chunk === null && !res.writableEnded) res.end();
      return false;
    }
    if (chunk instanceof Uint8Array) received += chunk.length;
    if (received <= maxBytes) return push(chunk, encoding);
    // When an answer has begun, sendProblem cuts the connection, so that the client notices the incomplete answer.
    const fault = tooLarge(maxBytes);
    // Node drops an answered request without an event, so its reader would wait forever.
    res.once("close", () => req.destroy(fault));
    const isAnswered = !res.headersSent;
    sendProblem(req, res, fault);
    // The handler may not be reading the body, and may answer later.
    if (isAnswered) silence(res);
    return false;
  };
}
