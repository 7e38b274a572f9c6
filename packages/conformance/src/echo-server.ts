import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export type EchoServer = Awaited<ReturnType<typeof startEchoServer>>;

/** Starts the server that the outbound probe calls. It records the headers of each call. */
export async function startEchoServer() {
  const calls = new Map<string, IncomingHttpHeaders>();
  const server = createServer((req, res) => {
    calls.set(req.url?.slice(1) ?? "", req.headers);
    res.writeHead(200, { "Content-Type": "application/json" }).end("{}");
  });
  const stop = await listen(server, 0, "127.0.0.1");
  const { port } = server.address() as AddressInfo;
  return {
    /** Returns the URL that the service must call for one request. */
    urlFor: (id: string) => `http://127.0.0.1:${port}/${id}`,
    /** Returns the headers of the call for this request; undefined if there was none. */
    headersOf: (id: string) => calls.get(id),
    stop,
  };
}

/** Starts a server. Returns a function that stops it. */
export async function listen(server: Server, port: number, host: string): Promise<() => Promise<void>> {
  server.listen(port, host);
  await once(server, "listening");
  return async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
}
