import { contextOf, onResponseEnd, openContext } from "@svc/context";
import { gatewayTimeout, ProblemError, sendProblem, silence } from "@svc/problem";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { watchUnreadBody } from "./unread-body.ts";

/** The requests of a server that have not been answered to the end yet. */
export interface InFlight {
  /** For the server: counts a request and hands it on. */
  readonly listener: RequestListener;
  readonly size: number;
  /** Whether an answer is owed on a connection. */
  isAnswering(socket: Socket): boolean;
  /** From now on every answer closes its connection, those under way included. */
  closeConnections(): void;
  stop(): void;
}

export interface TrackOptions {
  /** Until the first byte of an answer; 0 waits for ever. */
  readonly requestTimeoutMs: number;
  /** Of a body that goes on arriving after its request was answered. */
  readonly maxBodyBytes: number;
}

// A list that goes through the responses themselves: adding to a set and deleting from it would cost each request
// as much as all that is measured about it.
const ENTRY: unique symbol = Symbol("@svc/express/in-flight") as never;

interface Entry {
  readonly res: ServerResponse;
  before: Entry | undefined;
  after: Entry | undefined;
  /** False once the sweep has looked at it. */
  waits: boolean;
}

interface WithEntry extends ServerResponse {
  [ENTRY]?: Entry;
}

/**
 * Counts the requests that a listener is given and answers those that take too long with a 504 problem (LIM-4,
 * LIM-5), or a 408 where it is their body that does not come. One coarse timer serves all of them: a timer per
 * request would cost more than the rest of this package.
 */
export function trackRequests(
  listener: RequestListener,
  { requestTimeoutMs, maxBodyBytes }: TrackOptions,
): InFlight {
  // In order of arrival, so the sweep stops at the first that still has time.
  let first: Entry | undefined;
  let last: Entry | undefined;
  let size = 0;
  let closing = false;
  let sweeper: NodeJS.Timeout | undefined;

  // One function for both: a second listener of the event would make Node copy the list for every request.
  function track(req: IncomingMessage, res: ServerResponse & { req: IncomingMessage }): void {
    openContext(req);
    const entry: Entry = { res, before: last, after: undefined, waits: true };
    if (last === undefined) first = entry;
    else last.after = entry;
    last = entry;
    (res as WithEntry)[ENTRY] = entry;
    size++;
    if (closing) res.shouldKeepAlive = false;
    onResponseEnd(req, res, ended);
    listener(req, res);
  }

  function ended(req: IncomingMessage, res: ServerResponse): void {
    if (!req.complete) watchUnreadBody(req, maxBodyBytes);
    const entry = (res as WithEntry)[ENTRY];
    if (entry === undefined) return;
    const { before, after } = entry;
    if (before === undefined) first = after;
    else before.after = after;
    if (after === undefined) last = before;
    else after.before = before;
    // What has left the list must not hold on to those that came after it.
    entry.before = undefined;
    entry.after = undefined;
    size--;
  }

  function sweep(): void {
    const now = performance.now();
    let next: Entry | undefined;
    for (let entry = first; entry !== undefined; entry = next) {
      next = entry.after;
      const { res } = entry;
      if (now - (contextOf(res.req)?.startedAt ?? now) < requestTimeoutMs) return;
      // An answer that has begun is its author's from here on.
      if (entry.waits && !res.headersSent && !res.writableEnded && !res.destroyed) {
        if (waitsForClient(res.req)) cutOff(res);
        else {
          endReaderWithClient(res.req);
          sendProblem(res.req, res, gatewayTimeout());
        }
        silence(res);
      }
      entry.waits = false;
    }
  }

  if (requestTimeoutMs > 0) {
    sweeper = setInterval(sweep, Math.min(1000, Math.max(10, requestTimeoutMs / 4)));
    sweeper.unref();
  }

  return {
    listener: track,
    get size() {
      return size;
    },
    isAnswering(socket) {
      for (let entry = first; entry !== undefined; entry = entry.after) {
        if (entry.res.req.socket === socket) return true;
      }
      return false;
    },
    closeConnections() {
      closing = true;
      for (let entry = first; entry !== undefined; entry = entry.after) {
        if (!entry.res.headersSent) entry.res.shouldKeepAlive = false;
      }
    },
    stop() {
      clearInterval(sweeper);
    },
  };
}

// Whoever reads the body has all of it that came: it is the client that is late, and no failure of the service.
function waitsForClient(req: IncomingMessage): boolean {
  return !req.complete && req.readableFlowing !== null && req.readableLength === 0;
}

/** A handler that was at work on a part of the body may read on; but Node forgets a request that was answered. */
function endReaderWithClient(req: IncomingMessage): void {
  if (req.complete) return;
  const { socket } = req;
  const end = (): void => void req.destroy();
  socket.once("close", end);
  req.once("close", () => socket.off("close", end));
}

function cutOff(res: ServerResponse): void {
  const { req } = res;
  const fault = new ProblemError(408, "the request did not arrive in time");
  res.shouldKeepAlive = false;
  // Else the reader would wait for ever, or go on with a rest that comes later.
  res.once("close", () => req.destroy(fault));
  sendProblem(req, res, fault);
}
