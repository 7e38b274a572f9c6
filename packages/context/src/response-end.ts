import type { IncomingMessage, ServerResponse } from "node:http";

/**
 * Called once per response: when the response was passed to the operating system, or when its connection closed before
 * that (`aborted`).
 */
export type ResponseEndListener = (req: IncomingMessage, res: ServerResponse, aborted: boolean) => void;

// If two copies of this package are installed, they share this symbol, so that a response still has one event listener.
const LISTENERS: unique symbol = Symbol.for("@svc/context/1/response-end") as never;

interface WithListeners extends ServerResponse {
  [LISTENERS]?: ResponseEndListener | ResponseEndListener[];
}

/**
 * Calls `listener` once when the response ends; on the next tick if it has already ended. All listeners for a response
 * share one event listener and run in the order in which they were added, even if one of them throws. Pass the same
 * function for all requests, not a new closure for each. A listener may run without a current context: use
 * `contextOf(req)`.
 */
export function onResponseEnd(
  req: IncomingMessage,
  res: ServerResponse,
  listener: ResponseEndListener,
): void {
  const held = (res as WithListeners)[LISTENERS];
  if (res.closed) {
    process.nextTick(listener, req, res, !res.writableFinished);
  } else if (held === undefined) {
    (res as WithListeners)[LISTENERS] = listener;
    // `close` follows `finish` on every server response; without `finish` it means a broken connection.
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
  else callAll(held, 0, this, aborted);
}

function callAll(
  listeners: readonly ResponseEndListener[],
  from: number,
  res: ServerResponse,
  aborted: boolean,
): void {
  let index = from;
  try {
    for (; index < listeners.length; index++) listeners[index]?.(res.req, res, aborted);
  } finally {
    // If a listener throws, still run the others; the error then propagates as from any event listener.
    if (index < listeners.length) callAll(listeners, index + 1, res, aborted);
  }
}
