import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { listen, listenAt } from "./listen.ts";

export type EchoServer = Awaited<ReturnType<typeof startEchoServer>>;
export type UpstreamServer = Awaited<ReturnType<typeof serveUpstream>>;

/** Creates a server that returns 200 for every request, and records its headers by the last segment of its path. */
function createRecorder() {
  const requests = new Map<string, IncomingHttpHeaders>();
  const server = createServer((req, res) => {
    requests.set(req.url?.split("/").at(-1) ?? "", req.headers);
    res.writeHead(200, { "Content-Type": "application/json" }).end("{}");
  });
  /** Returns the headers of the request with this id; undefined if there was none. */
  const headersOf = (id: string) => requests.get(id);
  return { server, headersOf };
}

/** Starts the server that the outbound probe calls. */
export async function startEchoServer() {
  const { server, headersOf } = createRecorder();
  const stop = await listen(server, 0, "127.0.0.1");
  const { port } = server.address() as AddressInfo;
  /** Returns the URL that the service must call for one request. */
  const urlFor = (id: string) => `http://127.0.0.1:${port}/${id}`;
  return { urlFor, headersOf, stop };
}

/**
 * Starts the service behind the gateway.
 *
 * @param address `host:port`
 * @throws InvalidUse if the address is malformed or in use
 */
export async function serveUpstream(address: string) {
  const { server, headersOf } = createRecorder();
  const stop = await listenAt(server, "serve-upstream", address);
  return { headersOf, stop };
}
