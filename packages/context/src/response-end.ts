import type { IncomingMessage, ServerResponse } from "node:http";

/**
 * Told once per response: when it has been handed to the operating system, or when its connection went away
 * before that (`aborted`).
 */
export type ResponseEndListener = (req: IncomingMessage, res: ServerResponse, aborted: boolean) => void;

const LISTENERS: unique symbol = Symbol.for("@svc/context/1/response-end") as never;

interface WithListeners extends ServerResponse {
  [LISTENERS]?: ResponseEndListener | ResponseEndListener[];
}

/**
 * Calls `listener` once at the end of the response. All listeners of a response share one event listener;
 * they run in the order in which they were added. Pass one function for all requests, not a closure each.
 * There is no current context in a listener: use `contextOf(req)`.
 */
export function onResponseEnd(
  req: IncomingMessage,
  res: ServerResponse,
  listener: ResponseEndListener,
): void {
  const held = (res as WithListeners)[LISTENERS];
  if (held === undefined) {
    (res as WithListeners)[LISTENERS] = listener;
    // `close` follows `finish` on every server response, and comes alone when the connection breaks.
    res.on("close", responseClosed);
  } else if (typeof held === "function") {
    (res as WithListeners)[LISTENERS] = [held, listener];
  } else {
    held.push(listener);
  }
}

function responseClosed(this: ServerResponse): void {
  const held = (this as WithListeners)[LISTENERS];
  if (held === undefined) return;
  (this as WithListeners)[LISTENERS] = [];
  const aborted = !this.writableFinished;
  if (typeof held === "function") held(this.req, this, aborted);
  else for (const listener of held) listener(this.req, this, aborted);
}
