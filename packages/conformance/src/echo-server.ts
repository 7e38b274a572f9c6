import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { listen } from "./listen.ts";

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
