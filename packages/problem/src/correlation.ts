import type { IncomingMessage, ServerResponse } from "node:http";
import { isRequestId, mintRequestId, openContext } from "@svc/context";

const HEADER = "X-Request-ID";

/**
 * Returns the id of a failed request (ERR-5): the id that was already set, else the id that another library set on the
 * response, else the caller's id if it is acceptable, else a new id. Also sets it on the response and in the context.
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

/** Returns an id that may be echoed, or undefined (COR-6, COR-7). Node joins a repeated header with a space. */
export function acceptable(id: unknown): string | undefined {
  return isRequestId(id) ? id : undefined;
}
