import type { IncomingMessage, ServerResponse } from "node:http";
import type { Middleware } from "@svc/context";
import { defineOptions, kinds as k, type OptionsOf } from "@svc/options";
import { sendProblem, silence } from "@svc/problem";
import { hasBody } from "./content-type.ts";
import { tooLarge } from "./faults.ts";

const bodyLimitOptions = defineOptions("bodyLimit()", {
  /** Maximum size of a body of any type, in bytes as sent (LIM-1). Default: 2,097,152 (2 MiB). */
  maxBytes: { kind: k.withDefault(k.integer({ min: 1 }), 2 * 1024 * 1024) },
});

/** Options of `bodyLimit()`. */
export type BodyLimitOptions = OptionsOf<typeof bodyLimitOptions>;

/**
 * Limits bodies of every type, including those that the application reads as a stream. Rejects a `Content-Length` over
 * the limit before the body is read (LIM-2). Counts a chunked body as it arrives (LIM-3): over the limit, the client
 * gets a 413 and the stream's reader an error. `jsonBody()` has a limit of its own and works without `bodyLimit()`.
 *
 * @throws ConfigurationError for unknown or invalid options
 */
export function bodyLimit(options?: BodyLimitOptions): Middleware {
  const { maxBytes } = bodyLimitOptions.resolve(options);
  return function bodyLimitMiddleware(req, res, next) {
    if (!hasBody(req)) {
      next();
      return;
    }
    const length = req.headers["content-length"];
    // Data of a chunked body may have arrived while asynchronous middleware ran in front.
    if ((length === undefined ? req.readableLength : Number(length)) > maxBytes) {
      next(tooLarge(maxBytes));
      return;
    }
    if (length === undefined) countChunks(req, res, maxBytes);
    next();
  };
}

// The HTTP parser passes every chunk to `push`, so this works however the request is read.
function countChunks(req: IncomingMessage, res: ServerResponse, maxBytes: number): void {
  const push = req.push.bind(req);
  let received = req.readableLength;
  req.push = (chunk: unknown, encoding?: BufferEncoding): boolean => {
    if (received > maxBytes) {
      // The client has sent everything. Do not pass on the end, because a reader would treat the partial body as
      // complete.
      if (chunk === null && !res.writableEnded) res.end();
      return false;
    }
    if (chunk instanceof Uint8Array) received += chunk.length;
    if (received <= maxBytes) return push(chunk, encoding);
    // If a response has begun, sendProblem cuts the connection, so that the client notices the incomplete response.
    const fault = tooLarge(maxBytes);
    // Node emits no event when it drops a request that has a response, so its reader would wait forever.
    res.once("close", () => req.destroy(fault));
    const isAnswered = !res.headersSent;
    sendProblem(req, res, fault);
    // Ignore a later response: the handler may not be reading the body, and may respond without noticing the error.
    if (isAnswered) silence(res);
    return false;
  };
}
