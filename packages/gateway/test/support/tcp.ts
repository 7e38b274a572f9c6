import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";

/** A TCP server without its own HTTP parser. */
export interface TcpServer extends AsyncDisposable {
  readonly url: string;
  readonly connections: number;
}

/** Starts a TCP server; disposing of it destroys its connections. */
export async function startTcp(onConnection: (socket: Socket) => void): Promise<TcpServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => undefined));
    onConnection(socket);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get connections() {
      return sockets.size;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
