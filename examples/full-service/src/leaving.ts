import type { ServerResponse } from "node:http";

/** Returns a signal that aborts when the client disconnects before the response, so that the service stops work for it. */
export function leaving(res: ServerResponse): AbortSignal {
  const left = new AbortController();
  if (res.closed) left.abort();
  else res.once("close", () => left.abort());
  return left.signal;
}
