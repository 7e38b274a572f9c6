import type { IncomingMessage } from "node:http";
import { integer, type Kind, resolveOptions } from "@svc/options";
import { tooLarge } from "./faults.ts";
import { readBody } from "./read-body.ts";

/** Options of `readText()`. */
export interface ReadTextOptions {
  /** The largest body, in bytes as sent (LIM-1). No default: a form and a token are small, a document is not. */
  readonly maxBytes: number;
}

const kinds: { readonly maxBytes: Kind<number> } = { maxBytes: integer({ min: 1 }) };

/**
 * The body of a request as text, of whatever type it is: UTF-8, a byte that is none becomes U+FFFD. For the odd small
 * body that no parser has read: a form, a token. Refuses by `Content-Length` before anything is read (LIM-2), and else
 * counts what arrives (LIM-3); inflates nothing. A body that somebody else has read to its end is the empty text, because
 * nothing more of it will come.
 *
 * @throws ProblemError 413 `ERR_SVC_BODY_TOO_LARGE`, which closes the connection; 400 `ERR_SVC_BODY_INCOMPLETE` when
 * the client went away
 * @throws ConfigurationError for unknown or wrong options
 */
export async function readText(req: IncomingMessage, options: ReadTextOptions): Promise<string> {
  const { maxBytes } = resolveOptions("readText()", options, kinds);
  // There is no event left to wait for.
  if (req.readableEnded) return "";
  if (Number(req.headers["content-length"] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  return new Promise((resolve, reject) => {
    readBody(req, maxBytes, (fault, bytes) => {
      if (fault === undefined) resolve(bytes.toString("utf8"));
      else reject(fault);
    });
  });
}
