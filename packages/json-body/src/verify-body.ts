import type { IncomingMessage, ServerResponse } from "node:http";
import { ProblemError } from "@svc/problem";
import type { JsonBodyCode } from "./faults.ts";
import { inflaterOf } from "./inflate.ts";
import { readBody } from "./read-body.ts";
import { inSameContext } from "./same-context.ts";

/**
 * Decides whether a body is genuine. It throws, rejects, or returns false or a promise of false to refuse the request.
 *
 * @param bytes the body as sent, before inflation
 */
export type VerifyBody = (req: IncomingMessage, res: ServerResponse, bytes: Buffer) => unknown;

/**
 * Reads a request to its end, verifies its bytes as sent in the async context of the caller, and inflates them. An empty
 * body is not verified. Calls `done` once, with the body or with the fault.
 */
export function receiveVerifiedBody(
  req: IncomingMessage,
  res: ServerResponse,
  { maxBytes, verify }: { readonly maxBytes: number; readonly verify: VerifyBody },
  done: (fault: unknown, bytes: Buffer) => void,
): void {
  const inflater = inflaterOf(req.headers["content-encoding"]);
  let sent: Buffer = EMPTY;
  const checkAndInflate = inSameContext(req, () => {
    void refusalBy(verify, req, res, sent).then((refusal) => {
      if (refusal !== undefined || typeof inflater !== "function") done(refusal, sent);
      else inflater(sent, maxBytes, done);
    });
  });
  readBody(req, maxBytes, (fault, bytes) => {
    sent = bytes;
    if (fault !== undefined || bytes.length === 0) done(fault, bytes);
    else checkAndInflate();
  });
}

const EMPTY = Buffer.alloc(0);

async function refusalBy(
  verify: VerifyBody,
  req: IncomingMessage,
  res: ServerResponse,
  bytes: Buffer,
): Promise<unknown> {
  try {
    return (await verify(req, res, bytes)) === false ? notVerified(undefined) : undefined;
  } catch (error) {
    return hasStatus(error) ? error : notVerified(error);
  }
}

// The error handler keeps the status of a problem and of http-errors, for example a 503 while the keys are unavailable.
function hasStatus(error: unknown): boolean {
  return typeof (error as { readonly expose?: unknown } | null | undefined)?.expose === "boolean";
}

// The whole body has been read, so the connection can stay open.
function notVerified(cause: unknown): ProblemError {
  const code: JsonBodyCode = "ERR_SVC_BODY_NOT_VERIFIED";
  return new ProblemError(403, "the body could not be verified", { code, cause });
}
