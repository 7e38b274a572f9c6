import type { IncomingMessage, ServerResponse } from "node:http";
import { ProblemError } from "@svc/problem";
import type { JsonBodyCode } from "./faults.ts";
import { inflaterOf } from "./inflate.ts";
import { readBody } from "./read-body.ts";
import { inSameContext } from "./same-context.ts";

/**
 * Decides whether a body is authentic. Only true or a promise of true accepts the request. A thrown error refuses it and is
 * logged, unless it is a `ProblemError` or has a boolean `expose`, which keep their status.
 *
 * @param bytes the body as sent, before inflation; empty for a request without a body
 */
export type VerifyBody = (
  req: IncomingMessage,
  res: ServerResponse,
  bytes: Buffer,
) => boolean | Promise<boolean>;

interface VerifyRules {
  readonly maxBytes: number;
  readonly verify: VerifyBody;
  /** Logs an error that `verify` has thrown and that has no status of its own. */
  readonly report: (req: IncomingMessage, error: unknown) => void;
}

/**
 * Reads a request to its end, verifies its bytes as sent in the async context of the caller, and inflates them. Calls `done`
 * once, with the body or with the fault.
 */
export function receiveVerifiedBody(
  req: IncomingMessage,
  res: ServerResponse,
  { maxBytes, verify, report }: VerifyRules,
  done: (fault: unknown, bytes: Buffer) => void,
): void {
  const inflater = inflaterOf(req.headers["content-encoding"]);
  let sent: Buffer = EMPTY;
  const inflate = (_none: unknown, bytes: Buffer): void => {
    if (typeof inflater === "function") inflater(bytes, maxBytes, done);
  };
  const checkAndInflate = inSameContext(req, () => {
    void refusalBy({ verify, report }, req, res, sent).then((refusal) => {
      const isDone = refusal !== undefined || sent.length === 0 || typeof inflater !== "function";
      // Call back outside the promise, so that an exception in later middleware is not an unhandled rejection.
      process.nextTick(isDone ? done : inflate, refusal, sent);
    });
  });
  readBody(req, maxBytes, (fault, bytes) => {
    sent = bytes;
    if (fault !== undefined) done(fault, bytes);
    else checkAndInflate();
  });
}

const EMPTY = Buffer.alloc(0);

async function refusalBy(
  { verify, report }: Pick<VerifyRules, "verify" | "report">,
  req: IncomingMessage,
  res: ServerResponse,
  bytes: Buffer,
): Promise<unknown> {
  try {
    return (await verify(req, res, bytes)) === true ? undefined : notVerified(undefined);
  } catch (error) {
    if (hasStatus(error)) return error;
    report(req, error);
    return notVerified(error);
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
