import { contextOf, type Logger, setRouteTemplate, type SpanHook } from "@svc/context";
import { badRequest, isProblemError, type ProblemError, sendProblem, unauthorized } from "@svc/problem";
import { errorFields } from "@svc/resilience";
import { type IncomingHttpHeaders, type IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Dispatcher } from "undici";
import { Exchange } from "./exchange.ts";
import { failureProblem, notAnswering, unsafePath } from "./failures.ts";
import { connectionTokens, HOP_BY_HOP } from "./hop-by-hop.ts";
import { hasBody } from "./request-body.ts";
import { findRoute, forwardedTarget, type Route } from "./routes.ts";
import { startExchange } from "./start-exchange.ts";
import { isFromTrustedProxy, type Trust } from "./trusted-proxies.ts";
import { createTunnels, type Tunnels } from "./tunnels.ts";

/** The WebSockets of a gateway. */
export interface Upgrades {
  readonly upgrade: (req: IncomingMessage, socket: Duplex, head: Buffer, given?: ServerResponse) => boolean;
  /** Refuses further upgrades and closes the open WebSockets. */
  readonly close: () => Promise<void>;
}

interface UpgradesOptions {
  readonly routes: readonly Route[];
  readonly trust: Trust | undefined;
  readonly span: SpanHook | undefined;
  readonly logger: Logger | undefined;
}

export function createUpgrades({ routes, trust, span, logger }: UpgradesOptions): Upgrades {
  const tunnels = createTunnels();

  function upgrade(req: IncomingMessage, socket: Duplex, head: Buffer, given?: ServerResponse): boolean {
    const target = req.url ?? "";
    const route = findRoute(routes, target);
    if (route === undefined) return false;
    setRouteTemplate(req, route.template);
    const res = given ?? responseOn(req, socket as Socket);
    adopt(socket as Socket);
    const respond = (error?: unknown): void => respondWith(error, req, res, route, logger);
    const path = forwardedTarget(route, target);
    if (path === undefined) respond(unsafePath());
    else {
      const refusal = tunnels.isClosed ? notAnswering(req, route) : refusalOf(req, route);
      if (refusal !== undefined) respond(refusal);
      else {
        const forwarding = { route, path, isTrusted: isFromTrustedProxy(req, trust), logger };
        startExchange(new UpgradeExchange(forwarding, req, res, respond, { head, tunnels }), span);
      }
    }
    return true;
  }

  return { upgrade, close: () => tunnels.close() };
}

function refusalOf(req: IncomingMessage, route: Route): ProblemError | undefined {
  if (!route.websocket) return badRequest(`${route.prefix} does not accept WebSockets`);
  if (req.method !== "GET" || hasBody(req) || req.headers.upgrade?.toLowerCase() !== "websocket") {
    return badRequest("the gateway passes on only upgrades to websocket");
  }
  return route.requireAuth && contextOf(req)?.principal === undefined ? unauthorized() : undefined;
}

/** Returns a response for a socket whose HTTP parser Node has removed; the socket ends with the response. */
function responseOn(req: IncomingMessage, socket: Socket): ServerResponse {
  const res = new ServerResponse(req);
  res.shouldKeepAlive = false;
  res.assignSocket(socket);
  res.on("finish", () => socket.destroySoon());
  return res;
}

function adopt(socket: Socket): void {
  socket.setTimeout(0);
  socket.on("error", ignore);
  socket.on("drain", emitDrain);
}

/** Passes `drain` on to the response, as Node's HTTP server does for its own sockets. */
function emitDrain(this: Socket & { readonly _httpMessage?: ServerResponse | null }): void {
  this._httpMessage?.emit("drain");
}

function respondWith(
  error: unknown,
  req: IncomingMessage,
  res: ServerResponse,
  { prefix }: Route,
  logger: Logger | undefined,
): void {
  const problem = isProblemError(error) ? error : { status: 500 };
  if (problem.status >= 500) {
    const fields = { gateway_prefix: prefix, http_status: problem.status };
    logger?.error(
      { ...fields, ...errorFields((error as Error).cause) },
      "a WebSocket could not be passed on",
    );
  }
  sendProblem(req, res, problem);
}

/**
 * Passes one WebSocket on. If the target refuses the upgrade with an ordinary response, the client receives that response.
 */
class UpgradeExchange extends Exchange {
  readonly #head: Buffer;
  readonly #tunnels: Tunnels;

  constructor(
    ...[forwarding, req, res, next, { head, tunnels }]: [
      ...ConstructorParameters<typeof Exchange>,
      { readonly head: Buffer; readonly tunnels: Tunnels },
    ]
  ) {
    super(forwarding, req, res, next);
    this.#head = head;
    this.#tunnels = tunnels;
    // Without a reader, the socket does not notice that the client has disconnected.
    res.socket?.on("readable", readEnd).on("end", destroySocket);
  }

  protected override requestOptions(): Dispatcher.DispatchOptions {
    return { ...super.requestOptions(), upgrade: "websocket" };
  }

  onRequestUpgrade(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    target: Duplex,
  ): void {
    const { req, res } = this;
    const client = res.socket;
    target.on("error", ignore);
    if (client === null || client.destroyed) {
      target.destroy();
      return this.clientGone();
    }
    if (this.#tunnels.isClosed) {
      target.destroy();
      return this.fail(notAnswering(req, this.forwarding.route));
    }
    if (status !== 101 || String(headers.upgrade).toLowerCase() !== "websocket") {
      target.destroy();
      const cause = new Error(`the target responded to an upgrade to websocket with ${status}`);
      return this.fail(failureProblem(req, this.forwarding.route, cause));
    }
    this.span?.set({ "http.response.status_code": status });
    this.release();
    client.off("drain", emitDrain).off("readable", readEnd).off("end", destroySocket);
    res.detachSocket(client);
    // Nothing is written to the detached response, but log lines and metrics read its status.
    res.writeHead(status);
    client.write(headOf(headers, contextOf(req)?.requestId), "latin1");
    if (this.#head.length > 0) client.unshift(this.#head);
    this.#tunnels.open(client, target as Socket);
  }
}

/** Watches a socket for its end, and leaves its bytes to the tunnel. */
function readEnd(this: Socket): void {
  if (this.readableLength === 0) this.read();
}

function destroySocket(this: Socket): void {
  this.destroy();
}

function headOf(headers: IncomingHttpHeaders, requestId: string | undefined): string {
  const named = connectionTokens(headers.connection);
  let head = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n";
  if (requestId) head += `X-Request-ID: ${requestId}\r\n`;
  for (const name in headers) {
    if (HOP_BY_HOP.has(name) || named?.has(name) === true || (requestId && name === "x-request-id")) continue;
    for (const value of [headers[name] ?? []].flat()) head += `${name}: ${value}\r\n`;
  }
  return `${head}\r\n`;
}

function ignore(): void {}
