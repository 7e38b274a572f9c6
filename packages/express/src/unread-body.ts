import type { IncomingMessage } from "node:http";

const lookEveryMs = 100;

/**
 * Watches a request that was answered before its body was read. Node takes in and drops the rest, however much
 * comes, until the deadline for the whole request; a body that announces no length is cut off at the limit instead.
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
