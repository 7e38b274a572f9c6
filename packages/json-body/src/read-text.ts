import type { IncomingMessage } from "node:http";
import { defineOptions, kinds as k, type OptionsOf } from "@svc/options";
import { tooLarge } from "./faults.ts";
import { readBody } from "./read-body.ts";

const readTextOptions = defineOptions("readText()", {
  /** Maximum size of a body, in bytes as sent (LIM-1). Required, because a good limit depends on the type of text. */
  maxBytes: { kind: k.integer({ min: 1 }) },
});

/** Options of `readText()`. */
export type ReadTextOptions = OptionsOf<typeof readTextOptions>;

/**
 * Reads the body of a request of any type as UTF-8 text, with U+FFFD for invalid bytes. Use it for small bodies that no
 * parser reads, such as a form or a token. Rejects a `Content-Length` over the limit before reading (LIM-2), and
 * otherwise counts the bytes as they arrive (LIM-3). Does not inflate compressed bodies. Returns an empty string if
 * other code has read the body to its end.
 *
 * @throws ProblemError 413 `ERR_SVC_BODY_TOO_LARGE`, which closes the connection; 400 `ERR_SVC_BODY_INCOMPLETE` if the
 *   client disconnects
 * @throws ConfigurationError for unknown or invalid options
 */
export async function readText(req: IncomingMessage, options: ReadTextOptions): Promise<string> {
  const { maxBytes } = readTextOptions.resolve(options);
  // The stream has ended and emits no more events.
  if (req.readableEnded) return "";
  if (Number(req.headers["content-length"] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  return new Promise((resolve, reject) => {
    readBody(req, maxBytes, (fault, bytes) => {
      if (fault === undefined) resolve(bytes.toString("utf8"));
      else reject(fault);
    });
  });
}
