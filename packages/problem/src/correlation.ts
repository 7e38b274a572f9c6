import { randomFillSync } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { openContext } from "@svc/context";

const HEADER = "X-Request-ID";
const ACCEPTED = /^[!-~]{1,128}$/;

/**
 * The id of a failed request (ERR-5): the one that was set, else one that another library put on the response, else
 * the caller's when it is acceptable, else a new one. It is on the response afterwards, and in the context.
 */
export function correlate(req: IncomingMessage, res: ServerResponse): string {
  const context = openContext(req);
  if (context.requestId === "") {
    const id =
      acceptable(res.getHeader(HEADER)) ?? acceptable(req.headers["x-request-id"]) ?? mintRequestId();
    context.requestId = id;
    res.setHeader(HEADER, id);
  } else if (!res.hasHeader(HEADER)) {
    res.setHeader(HEADER, context.requestId);
  }
  return context.requestId;
}

/** An id that may be echoed, or undefined (COR-6, COR-7: Node joins a repeated header with a space). */
export function acceptable(id: unknown): string | undefined {
  return typeof id === "string" && ACCEPTED.test(id) ? id : undefined;
}

const POOL_IDS = 128;
const ID_BYTES = 16;
const pool = Buffer.allocUnsafe(POOL_IDS * ID_BYTES);
let used = pool.length;

/** 32 lowercase hex characters (COR-8). Drawn from a pool, since a call of the system for every id costs 40 times more. */
export function mintRequestId(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += ID_BYTES;
  return pool.toString("hex", used - ID_BYTES, used);
}
