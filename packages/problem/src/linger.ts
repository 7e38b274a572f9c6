import type { IncomingMessage, ServerResponse } from "node:http";

const LINGER_MS = 2_000;

const lingering = new WeakSet<ServerResponse>();

/** Whether a response is whole and only its end waits for the client: it is no half answer. */
export function isLingering(res: ServerResponse): boolean {
  return lingering.has(res);
}

/**
 * Sends a whole response to a client that is still sending, and closes the connection a little later: at the end of
 * the request, at the latest after two seconds. Closing at once would make the system answer the bytes under way
 * with a reset, and many clients then never read the response.
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
