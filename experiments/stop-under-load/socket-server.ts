import { acceptWebSocket } from "@svc/test-support";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";

/** A service that accepts WebSockets and sends nothing on them. */
export interface SocketServer extends AsyncDisposable {
  readonly url: string;
}

export async function startSocketServer(): Promise<SocketServer> {
  const sockets = new Set<Socket>();
  const server = createServer().listen(0, "127.0.0.1");
  server.on("connection", (socket) => sockets.add(socket.on("error", () => undefined)));
  server.on("upgrade", (req, socket: Socket) => {
    acceptWebSocket(req, socket);
    socket.resume();
  });
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
