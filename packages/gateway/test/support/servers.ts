import { openContext, type Principal } from "@svc/context";
import { gateway, type Gateway, type GatewayOptions } from "@svc/gateway";
import { problemHandler } from "@svc/problem";
import { collectingLogger, type CollectingLogger, listen, type Listening } from "@svc/test-support";
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";

/** A request as the service behind the gateway received it. */
export interface Received {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly rawHeaders: readonly string[];
}

/** A service behind a gateway that records its requests. */
export interface Upstream extends Listening {
  readonly received: readonly Received[];
  /** Returns the only request, and fails if there are more or none. */
  only(): Received;
}

/** @param respond default: reads the body and responds with its length */
export async function startUpstream(respond: RequestListener = respondWithLength): Promise<Upstream> {
  const received: Received[] = [];
  const listening = await listen((req, res) => {
    const { method, url, headers, rawHeaders } = req;
    received.push({ method, url, headers, rawHeaders });
    respond(req, res);
  });
  const sockets = socketsOf(listening.server);
  return {
    ...listening,
    received,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await listening[Symbol.asyncDispose]();
    },
    only() {
      const [first, second] = received;
      if (first === undefined || second !== undefined) throw new Error(`${received.length} requests arrived`);
      return first;
    },
  };
}

function socketsOf(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => sockets.add(socket));
  return sockets;
}

function respondWithLength(req: IncomingMessage, res: ServerResponse): void {
  let bytes = 0;
  req.on("data", (chunk: Buffer) => (bytes += chunk.length));
  req.on("end", () => res.end(String(bytes)));
}

/** A gateway in a server of `node:http`. */
export interface Running extends Listening {
  readonly gateway: Gateway;
  readonly logger: CollectingLogger;
  /** Errors that reached the error handler. */
  readonly errors: readonly unknown[];
}

export interface GatewayExtras {
  /** Middleware that runs before the gateway. */
  readonly before?: (req: IncomingMessage, res: ServerResponse) => void;
}

/** Starts a server with a gateway; requests that no route handles get the body `own`. */
export async function startGateway(
  options: GatewayOptions,
  { before }: GatewayExtras = {},
): Promise<Running> {
  const logger = collectingLogger();
  const made = gateway({ logger, ...options });
  const handleError = problemHandler();
  const errors: unknown[] = [];
  const server = createServer((req, res) => {
    before?.(req, res);
    made(req, res, (error) => {
      if (error === undefined) {
        res.end("own");
        return;
      }
      errors.push(error);
      handleError(error, req, res, () => undefined);
    });
  });
  server.on("upgrade", (req: IncomingMessage, socket: Socket, head: Buffer) => {
    if (!made.upgrade(req, socket, head)) socket.destroy();
  });
  const sockets = socketsOf(server);
  const listening = await listen(server);
  return {
    ...listening,
    gateway: made,
    logger,
    errors,
    async [Symbol.asyncDispose]() {
      // The server waits for its sockets, including those of WebSockets.
      for (const socket of sockets) socket.destroy();
      await listening[Symbol.asyncDispose]();
      await made.stop();
    },
  };
}

/** Sets the request id of requests, as `@svc/request-id` does. */
export function withRequestId(id: string): (req: IncomingMessage, res: ServerResponse) => void {
  return (req, res) => {
    openContext(req).requestId = id;
    res.setHeader("X-Request-ID", id);
  };
}

/** Sets the caller of requests that have the header `X-Test-User`. */
export function signIn(req: IncomingMessage): void {
  const subject = req.headers["x-test-user"];
  if (typeof subject === "string") openContext(req).principal = { subject } as Principal;
}

/** Returns the origin of a port on which no server listens. */
export async function closedOrigin(): Promise<string> {
  await using listening = await listen(() => undefined);
  return listening.url;
}

/** Returns the body of a problem response without the members that differ from request to request. */
export async function problemOf(
  response: Response,
): Promise<{ readonly status: number; readonly detail: string }> {
  const { status, detail } = (await response.json()) as { status: number; detail: string };
  return { status, detail };
}

/** A monotonic clock that the test advances. */
export function testClock(): { readonly now: () => number; readonly advance: (ms: number) => void } {
  let at = 1_000_000;
  return { now: () => at, advance: (ms) => void (at += ms) };
}
