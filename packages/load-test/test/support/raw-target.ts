import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { oneRoute } from "./target.ts";

/** A server that responds correctly to `/openapi.json` and `/ready`, and runs a given function for every other request. */
export interface RawTarget extends AsyncDisposable {
  readonly url: string;
}

/**
 * Starts a server that can break HTTP.
 *
 * @param answer receives the connection for every request
 */
export async function startRawTarget(answer: (socket: Socket) => void): Promise<RawTarget> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    socket.on("data", (data) => {
      const path = data.toString("latin1").split(" ")[1];
      if (path === "/openapi.json") send(socket, JSON.stringify(oneRoute));
      else if (path === "/ready") send(socket, JSON.stringify({ checks: {} }));
      else answer(socket);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Writes a string repeatedly until the connection ends. */
export function writeForever(socket: Socket, text: string): void {
  const timer = setInterval(() => socket.write(text), 5);
  socket.on("close", () => clearInterval(timer));
}

function send(socket: Socket, body: string): void {
  socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`);
}
