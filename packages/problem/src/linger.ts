import type { IncomingMessage, ServerResponse } from "node:http";

const LINGER_MS = 2_000;

const lingering = new WeakSet<ServerResponse>();

/** Returns whether a response is written completely and ends once its client has finished sending. */
export function isLingering(res: ServerResponse): boolean {
  return lingering.has(res);
}

/**
 * Sends a complete response to a client that is still sending, and closes the connection at the end of the request, at
 * the latest after two seconds. An earlier close would make the operating system reset the connection, and many clients
 * would not read the response.
 */
export function lingerThenEnd(req: IncomingMessage, res: ServerResponse, body: Uint8Array): void {
  lingering.add(res);
  let timer: NodeJS.Timeout | undefined = undefined;
  const end = (): void => {
    clearTimeout(timer);
    req.off("end", end);
    req.off("close", end);
    if (!res.writableEnded) res.end();
  };
  timer = setTimeout(end, LINGER_MS);
  timer.unref();
  req.on("end", end);
  req.on("close", end);
  req.on("error", ignore);
  if (req.method === "HEAD") res.flushHeaders();
  else res.write(body);
  req.resume();
}

function ignore(): void {}
