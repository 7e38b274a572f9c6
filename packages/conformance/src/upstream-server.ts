import { createServer, type IncomingHttpHeaders } from "node:http";
import { listenAt } from "./listen.ts";

export type UpstreamServer = Awaited<ReturnType<typeof serveUpstream>>;

/**
 * Starts the service behind the gateway, which answers every request with 200. It records the headers of each request by
 * the last segment of its path.
 *
 * @param address `host:port`
 * @throws InvalidUse if the address is malformed or in use
 */
export async function serveUpstream(address: string) {
  const requests = new Map<string, IncomingHttpHeaders>();
  const server = createServer((req, res) => {
    requests.set(req.url?.split("/").at(-1) ?? "", req.headers);
    res.writeHead(200, { "Content-Type": "application/json" }).end("{}");
  });
  const stop = await listenAt(server, "serve-upstream", address);
  return { headersOf: (id: string) => requests.get(id), stop };
}
