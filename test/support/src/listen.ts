import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** A server that listens on a free port of the loopback interface. Disposal closes it. */
export interface Listening extends AsyncDisposable {
  readonly server: Server;
  readonly port: number;
  readonly url: string;
}

/** Starts a server for a request listener, an Express app or an existing server. Use with `await using`. */
export async function listen(handler: RequestListener | Server): Promise<Listening> {
  const server = typeof handler === "function" ? createServer(handler) : handler;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    server,
    port,
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
}
