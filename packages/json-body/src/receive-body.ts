import type { IncomingMessage } from "node:http";
import type { ProblemError } from "@svc/problem";
import { type JsonBodyCode, tooLarge, unsupported } from "./faults.ts";
import { acceptedEncodings, inflaterOf } from "./inflate.ts";
import { readBody } from "./read-body.ts";

/** Limits of a body that a parser reads as a whole. */
export interface BodyRules {
  /** In bytes, as sent and after inflation. */
  readonly maxBytes: number;
  readonly inflate: boolean;
}

/**
 * Returns the problem for a body that is refused by its headers, before it is read: 413 by `Content-Length` (LIM-2), 415
 * by charset or content encoding.
 *
 * @param charset detail of the 415 for a wrong charset; undefined if the charset is accepted
 */
export function refusalByHeaders(
  req: IncomingMessage,
  { maxBytes, inflate }: BodyRules,
  charset: string | undefined,
): ProblemError | undefined {
  if (Number(req.headers["content-length"] ?? 0) > maxBytes) return tooLarge(maxBytes);
  if (charset !== undefined) return unsupported(req, CHARSET, charset);
  const inflater = inflaterOf(req.headers["content-encoding"]);
  if (inflater === undefined || (inflate && inflater !== "unknown")) return undefined;
  const accepted = inflate ? acceptedEncodings : "identity";
  return unsupported(req, ENCODING, `the content encoding must be one of: ${accepted}`, {
    "Accept-Encoding": accepted,
  });
}

const CHARSET: JsonBodyCode = "ERR_SVC_BODY_CHARSET";
const ENCODING: JsonBodyCode = "ERR_SVC_BODY_ENCODING";

/**
 * Reads a request to its end and inflates its body. Calls `done` once, with the body or with the fault. The callback runs
 * outside the async context of the caller.
 */
export function receiveBody(
  req: IncomingMessage,
  maxBytes: number,
  done: (fault: ProblemError | undefined, bytes: Buffer) => void,
): void {
  const inflater = inflaterOf(req.headers["content-encoding"]);
  readBody(req, maxBytes, (fault, bytes) => {
    if (fault !== undefined || typeof inflater !== "function" || bytes.length === 0) done(fault, bytes);
    else inflater(bytes, maxBytes, done);
  });
}
