import { contextOf, onResponseEnd, openContext } from "@svc/context";
import { gatewayTimeout, sendProblem } from "@svc/problem";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { silence } from "./silence.ts";

/** The requests of a server that have not been answered to the end yet. */
export interface InFlight {
  readonly size: number;
  /** From now on every answer closes its connection, those under way included. */
  closeConnections(): void;
  stop(): void;
}

/**
 * Counts the requests of a server and answers those that take too long with a 504 problem (LIM-*). One coarse timer
 * serves all of them: a timer per request would cost more than the rest of this package.
 *
 * @param requestTimeoutMs until the first byte of the answer; 0 waits for ever
 */
export function trackRequests(server: Server, requestTimeoutMs: number): InFlight {
  // In order of arrival, so the sweep stops at the first that still has time.
  const waiting = new Set<ServerResponse>();
  let size = 0;
  let closing = false;
  let sweeper: NodeJS.Timeout | undefined;

  function ended(_req: IncomingMessage, res: ServerResponse): void {
    size--;
    waiting.delete(res);
  }

  function track(req: IncomingMessage, res: ServerResponse): void {
    openContext(req);
    size++;
    waiting.add(res);
    if (closing) res.shouldKeepAlive = false;
    onResponseEnd(req, res, ended);
  }

  function sweep(): void {
    const now = performance.now();
    for (const res of waiting) {
      const startedAt = contextOf(res.req)?.startedAt ?? now;
      if (now - startedAt < requestTimeoutMs) return;
      // Looked at once: an answer that has begun is its author's from here on.
      waiting.delete(res);
      if (res.headersSent || res.writableEnded || res.destroyed) continue;
      sendProblem(res.req, res, gatewayTimeout());
      silence(res);
    }
  }

  server.prependListener("request", track);
  if (requestTimeoutMs > 0) {
    sweeper = setInterval(sweep, Math.min(1000, Math.max(10, requestTimeoutMs / 4)));
    sweeper.unref();
  }

  return {
    get size() {
      return size;
    },
    closeConnections() {
      closing = true;
      for (const res of waiting) if (!res.headersSent) res.shouldKeepAlive = false;
    },
    stop() {
      clearInterval(sweeper);
      server.off("request", track);
    },
  };
}
