import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** The target of the outbound probe; records the headers of each call. */
export interface EchoServer {
  /** Returns the URL to call for one request. */
  urlFor(id: string): string;
  /** Returns the headers of the call to that URL, if there was one. */
  headersOf(id: string): IncomingHttpHeaders | undefined;
  stop(): Promise<void>;
}

export async function startEchoServer(): Promise<EchoServer> {
  const calls = new Map<string, IncomingHttpHeaders>();
  const server = createServer((req, res) => {
    calls.set(req.url?.slice(1) ?? "", req.headers);
    res.writeHead(200, { "Content-Type": "application/json" }).end("{}");
  });
  const stop = await listen(server, 0, "127.0.0.1");
  const { port } = server.address() as AddressInfo;
  return {
    urlFor: (id) => `http://127.0.0.1:${port}/${id}`,
    headersOf: (id) => calls.get(id),
    stop,
  };
}

/** Returns a function that stops the server. */
export async function listen(server: Server, port: number, host: string): Promise<() => Promise<void>> {
  server.listen(port, host);
  await once(server, "listening");
  return async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
}
