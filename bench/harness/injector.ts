import { AsyncResource } from "node:async_hooks";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { cut, cutHeaders, type RequestBytes, requestBytes } from "./request-bytes.ts";
import { classesOf } from "./server-classes.ts";
import { StubSocket } from "./stub-socket.ts";

/** The response to one request. */
export interface Answer {
  readonly status: number;
  /** Headers by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Passes requests to a server that does not listen, without the HTTP parser and the kernel. */
export interface Injector {
  send(method: string, url: string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /**
   * Sends `count` requests: the given ones in rotation, continuing where the last call stopped. Rejects for any status
   * other than 200.
   *
   * @param inFlight how many requests wait for a response at a time. Default: 1
   */
  run(requests: readonly RequestBytes[], count: number, inFlight?: number): Promise<void>;
}

// Members that Node's HTTP server calls or sets, but that its types omit.
interface ParsedRequest extends IncomingMessage {
  _addHeaderLines(headers: string[], count: number): void;
  _dump(): void;
  readonly _consumed: boolean;
  readonly _readableState: { readonly resumeScheduled: boolean };
}
interface ServedResponse extends ServerResponse {
  _keepAliveTimeout: number;
  _maxRequestsPerSocket: number | null;
  _closed: boolean;
}

type Done = (res: ServerResponse) => void;

/** Number of requests to send in one turn of the event loop, as if they arrived on many connections. */
const requestsPerTurn = 16;

export function createInjector(server: Server): Injector {
  const classes = classesOf(server);
  let socket = new StubSocket();
  let sent = 0;

  // Does the work of the callbacks of Node's parser for a request without a body.
  function inject(request: RequestBytes, stub: StubSocket, done: Done): void {
    const connection = stub as StubSocket & Socket;
    const req = new classes.IncomingMessage(connection) as ParsedRequest;
    req.httpVersionMajor = 1;
    req.httpVersionMinor = 1;
    req.httpVersion = "1.1";
    req.url = cut(request.bytes, request.url);
    req.method = request.method;
    const headers = cutHeaders(request);
    req._addHeaderLines(headers, headers.length);
    const res = new classes.ServerResponse(req as IncomingMessage) as ServedResponse;
    res._keepAliveTimeout = server.keepAliveTimeout;
    res._maxRequestsPerSocket = server.maxRequestsPerSocket;
    res.shouldKeepAlive = true;
    res.assignSocket(connection);
    res.on("finish", responseFinished.bind(undefined, req, res, connection, done));
    server.emit("request", req, res);
    req.complete = true;
    req.push(null);
  }

  return {
    send(method, url, headers = {}) {
      return new Promise((resolve) => {
        const all = { Host: "localhost", ...headers };
        if (socket.destroyed) socket = new StubSocket();
        socket.keep();
        inject(requestBytes(method, url, all), socket, () => resolve(parseAnswer(socket.taken())));
      });
    },
    run(requests, count, inFlight = 1) {
      return new Promise((resolve, reject) => {
        let left = count;
        let waiting = Math.min(inFlight, count);
        function open(stub: StubSocket): void {
          // Node's parser starts each request outside the asynchronous context of the previous one.
          const one = AsyncResource.bind((): void => {
            inject(requests[sent++ % requests.length] as RequestBytes, stub, next);
          });
          function next(res: ServerResponse): void {
            left--;
            if (res.statusCode !== 200) reject(new Error(`a request returned ${res.statusCode}`));
            else if (left <= 0) resolve();
            else if (left < waiting) waiting--;
            else if (left % requestsPerTurn === 0) setImmediate(one);
            else one();
          }
          one();
        }
        for (let lane = waiting; lane > 0; lane--) open(lane === 1 ? socket : new StubSocket());
      });
    },
  };
}

function responseFinished(req: ParsedRequest, res: ServedResponse, socket: Socket, done: Done): void {
  if (!req._consumed && !req._readableState.resumeScheduled) req._dump();
  res.detachSocket(socket);
  process.nextTick(closeResponse, res, done);
}

function closeResponse(res: ServedResponse, done: Done): void {
  if (!res._closed) {
    res.destroyed = true;
    res._closed = true;
    res.emit("close");
  }
  done(res);
}

function parseAnswer(text: string): Answer {
  const split = text.indexOf("\r\n\r\n");
  const [statusLine = "", ...lines] = text.slice(0, split).split("\r\n");
  return {
    status: Number(/^HTTP\/1\.1 (\d{3})/.exec(statusLine)?.[1]),
    headers: Object.fromEntries(
      lines.map((line) => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    ),
    body: text.slice(split + 4),
  };
}
