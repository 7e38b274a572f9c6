import type { IncomingMessage, ServerResponse } from "node:http";
import { isRequestId, mintRequestId, openContext } from "@svc/context";

const HEADER = "X-Request-ID";

/**
 * Returns the id of a failed request (ERR-5), and sets it on the response and in the context: the id in the context,
 * else the id that another library set on the response, else the caller's id if it is acceptable, else a new id.
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

/**
 * Returns the id if it may be echoed, else undefined (COR-6, COR-7). Rejects a repeated header, whose values Node joins
 * with a comma and a space.
 */
export function acceptable(id: unknown): string | undefined {
  return isRequestId(id) ? id : undefined;
}
