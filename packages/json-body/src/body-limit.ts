import type { IncomingMessage, ServerResponse } from "node:http";
import type { Middleware } from "@svc/context";
import { integer, resolveOptions, withDefault } from "@svc/options";
import { sendProblem, silence } from "@svc/problem";
import { hasBody } from "./content-type.ts";
import { tooLarge } from "./faults.ts";

/** Options of `bodyLimit()`. */
export interface BodyLimitOptions {
  /** The largest body of any type, in bytes as sent (LIM-1). Default: 2,097,152 (2 MiB). */
  readonly maxBytes?: number | undefined;
}

/**
 * Bounds bodies of every type, also those that the application reads as a stream. A `Content-Length` over the limit
 * is refused before anything is read (LIM-2); a chunked body is counted as it arrives (LIM-3), and when it is too
 * long the client gets its 413 while the handler sees the stream end with an error. `jsonBody()` has its own limit
 * and does not need this.
 *
 * @throws ConfigurationError for unknown or wrong options
 */
export function bodyLimit(options?: BodyLimitOptions): Middleware {
  const { maxBytes } = resolveOptions("bodyLimit()", options, {
    maxBytes: withDefault(integer({ min: 1 }), 2 * 1024 * 1024),
  });
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

// The parser hands every chunk to `push`: the one place that all ways of reading a request have in common.
function countChunks(req: IncomingMessage, res: ServerResponse, maxBytes: number): void {
  const push = req.push.bind(req);
  let received = 0;
  req.push = (chunk: unknown, encoding?: BufferEncoding): boolean => {
    if (received > maxBytes) {
      // The client is done: nothing is left to wait for. The end is not passed on, or half a body would look whole.
      if (chunk === null && !res.writableEnded) res.end();
      return false;
    }
    if (chunk instanceof Uint8Array) received += chunk.length;
    if (received <= maxBytes) return push(chunk, encoding);
    // Cuts the connection where an answer has begun: the client must not take half of it for a whole one.
    const fault = tooLarge(maxBytes);
    // Node forgets a request that was answered, and its reader would wait for ever.
    res.once("close", () => req.destroy(fault));
    const isAnswered = !res.headersSent;
    sendProblem(req, res, fault);
    // Its handler may not even be reading, and answer some time.
    if (isAnswered) silence(res);
    return false;
  };
}
