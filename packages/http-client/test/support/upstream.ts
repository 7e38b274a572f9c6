import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTcpServer, type Socket } from "node:net";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { listen } from "@svc/test-support";

/** A request as the upstream received it. */
export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

export interface Upstream extends AsyncDisposable {
  readonly url: string;
  readonly received: readonly Received[];
}

/** Starts a real server that records each request, and then calls the handler with the number of requests so far. */
export async function openUpstream(
  handler: (res: ServerResponse, count: number, req: IncomingMessage) => void,
): Promise<Upstream> {
  const received: Received[] = [];
  async function record(req: IncomingMessage, res: ServerResponse): Promise<void> {
    let body = "";
    for await (const chunk of req.setEncoding("utf8")) body += String(chunk);
    const { method = "", url = "", headers, rawHeaders } = req;
    received.push({ method, url, headers, rawHeaders, body });
    handler(res, received.length, req);
  }
  // A client that disconnects causes an error event on its request.
  const server = createServer((req, res) => void record(req, res).catch(() => undefined));
  const listening = await listen(server);
  return { url: listening.url, received, [Symbol.asyncDispose]: () => listening[Symbol.asyncDispose]() };
}

/** Starts a server that sends the given bytes when a request begins, and counts the connections. */
export async function openRawUpstream(
  answer: (socket: Socket) => void,
): Promise<AsyncDisposable & { readonly url: string; readonly requests: () => number }> {
  let requests = 0;
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("data", () => {
      requests += 1;
      answer(socket);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => requests,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Returns the URL of a port on which no server listens. */
export async function closedUrl(): Promise<string> {
  await using listening = await listen(() => undefined);
  return listening.url;
}
