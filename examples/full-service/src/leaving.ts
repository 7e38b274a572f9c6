import type { ServerResponse } from "node:http";

/** Aborts when whoever waits for the answer has left, so that nothing more is done for nobody. */
export function leaving(res: ServerResponse): AbortSignal {
  const left = new AbortController();
  if (res.closed) left.abort();
  else res.once("close", () => left.abort());
  return left.signal;
}
