import { contextOf, onResponseEnd, openContext } from "@svc/context";
import { gatewayTimeout, ProblemError, sendProblem, silence } from "@svc/problem";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** A server's requests whose response is not complete yet. */
export interface InFlight {
  /** The listener to attach to the server. It tracks each request and passes it on. */
  readonly listener: RequestListener;
  readonly size: number;
  /** Returns whether a connection has a request whose response is not complete yet. */
  isAnswering(socket: Socket): boolean;
  /** Makes every further response close its connection, including responses to requests in progress. */
  closeConnections(): void;
  stop(): void;
}

export interface TrackOptions {
  /** Time limit for the first byte of a response; 0 means no limit. */
  readonly requestTimeoutMs: number;
  /** Maximum number of bytes of a body that are read after the response was sent. */
  readonly maxBodyBytes: number;
  /** Time limit for receiving a whole request. Default: none, because the server itself has one. */
  readonly receiveTimeoutMs?: number | undefined;
  /** Returns whether a request has its own limits, so that these time limits do not apply. Default: no request has. */
  readonly hasOwnLimits?: ((req: IncomingMessage) => boolean) | undefined;
}

// The responses form a linked list, because adding to and deleting from a set would double the cost of tracking a
// request.
const ENTRY: unique symbol = Symbol("@svc/express/in-flight") as never;

interface Entry {
  readonly res: ServerResponse;
  before: Entry | undefined;
  after: Entry | undefined;
  /** False after the sweep has ended or skipped the request, and for a request with its own limits. */
  waits: boolean;
  /** False for a request with its own limits. */
  readonly isLimited: boolean;
}

interface WithEntry extends ServerResponse {
  [ENTRY]?: Entry;
}

/**
 * Tracks a listener's requests and ends slow ones with a 504 problem (LIM-4, LIM-5), or with a 408 if the body does not
 * arrive. One coarse timer checks all of them, because a timer per request would cost more than the rest of this
 * package.
 */
export function trackRequests(
  listener: RequestListener,
  { requestTimeoutMs, maxBodyBytes, receiveTimeoutMs = 0, hasOwnLimits }: TrackOptions,
): InFlight {
  // Requests in order of arrival, so that the sweep can stop at the first request that is still within its time limit.
  let first: Entry | undefined;
  let last: Entry | undefined;
  let size = 0;
  let closing = false;
  let sweeper: NodeJS.Timeout | undefined;
  let receiver: NodeJS.Timeout | undefined;

  // Use a single listener, because with two Node would copy the list of listeners for every request.
  function track(req: IncomingMessage, res: ServerResponse & { req: IncomingMessage }): void {
    const context = openContext(req);
    const isLimited = hasOwnLimits?.(req) !== true;
    if (requestTimeoutMs > 0 && isLimited) context.deadline = context.startedAt + requestTimeoutMs;
    const entry: Entry = { res, before: last, after: undefined, waits: isLimited, isLimited };
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
    const entry = (res as WithEntry)[ENTRY];
    if (!req.complete) watchUnreadBody(req, maxBodyBytes);
    if (entry === undefined) return;
    if (receiveTimeoutMs > 0 && entry.isLimited && !req.complete) limitUnreadBody(req, receiveTimeoutMs);
    const { before, after } = entry;
    if (before === undefined) first = after;
    else before.after = after;
    if (after === undefined) last = before;
    else after.before = before;
    // A removed entry must not keep later entries in memory.
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
      // Do not interrupt a response that has begun; its handler finishes it (LIM-5).
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

  /** Ends requests whose body has not arrived in time. */
  function sweepIncomplete(): void {
    const now = performance.now();
    let next: Entry | undefined;
    for (let entry = first; entry !== undefined; entry = next) {
      next = entry.after;
      const { res, isLimited } = entry;
      if (now - (contextOf(res.req)?.startedAt ?? now) < receiveTimeoutMs) return;
      if (!isLimited || res.req.complete) continue;
      if (res.headersSent || res.destroyed) res.req.socket.destroy();
      else cutOff(res);
    }
  }

  // Node has a limit for slow requests too, but cannot exempt any request from it.
  if (receiveTimeoutMs > 0) {
    receiver = setInterval(sweepIncomplete, Math.min(500, Math.max(10, receiveTimeoutMs / 4)));
    receiver.unref();
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
      clearInterval(receiver);
    },
  };
}

// The handler has read all data that has arrived, so it is waiting for the client: respond with 408, not 504.
function waitsForClient(req: IncomingMessage): boolean {
  return !req.complete && req.readableFlowing !== null && req.readableLength === 0;
}

/**
 * Ends the body for its reader when the client disconnects, because Node emits no event when it drops a request that
 * has a response.
 */
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
  // Destroy the request with the error: code that reads the body would otherwise wait forever, or continue with data that
  // arrives later.
  res.once("close", () => req.destroy(fault));
  sendProblem(req, res, fault);
}

/** Cuts the connection of a client that sends the rest of its body too slowly after it has received the response. */
function limitUnreadBody(req: IncomingMessage, receiveTimeoutMs: number): void {
  const spent = performance.now() - (contextOf(req)?.startedAt ?? 0);
  const timer = setTimeout(
    () => {
      if (!req.complete) req.socket.destroy();
    },
    Math.max(0, receiveTimeoutMs - spent),
  );
  timer.unref();
}

const lookEveryMs = 100;

/**
 * Limits the unread body of a request that has a response. Node reads and discards a remainder of any size until the
 * request's deadline. This function cuts the connection at the limit if the body has no Content-Length.
 */
function watchUnreadBody(req: IncomingMessage, maxBytes: number): void {
  const { socket } = req;
  if (req.complete || socket.destroyed || req.headers["transfer-encoding"] === undefined) return;
  const before = socket.bytesRead;
  const timer = setInterval(() => {
    if (req.complete || socket.destroyed) clearInterval(timer);
    else if (socket.bytesRead - before > maxBytes) socket.destroy();
  }, lookEveryMs);
  timer.unref();
}
