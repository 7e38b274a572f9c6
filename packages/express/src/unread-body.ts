import type { IncomingMessage } from "node:http";

const lookEveryMs = 100;

/**
 * Limits the unread body of an answered request. Node reads and discards the rest of any size until the deadline of the
 * request; this cuts the connection of a body without a length at the limit.
 */
export function watchUnreadBody(req: IncomingMessage, maxBytes: number): void {
  const { socket } = req;
  if (req.complete || socket.destroyed || req.headers["transfer-encoding"] === undefined) return;
  const before = socket.bytesRead;
  const timer = setInterval(() => {
    if (req.complete || socket.destroyed) clearInterval(timer);
    else if (socket.bytesRead - before > maxBytes) socket.destroy();
  }, lookEveryMs);
  timer.unref();
}
