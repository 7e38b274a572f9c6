import { acceptWebSocket } from "@svc/test-support";
import type { IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { startUpstream, type Upstream } from "./servers.ts";

/** A service that accepts WebSockets and passes their sockets to the test. */
export interface WebSocketUpstream extends Upstream {
  readonly sockets: readonly Socket[];
}

/** @param onSocket called with the socket after the handshake */
export async function startWebSockets(
  onSocket: (socket: Socket, req: IncomingMessage) => void,
  headers: readonly string[] = [],
): Promise<WebSocketUpstream> {
  const upstream = await startUpstream((_req, res) => res.writeHead(426).end("upgrade"));
  const sockets: Socket[] = [];
  upstream.server.on("upgrade", (req: IncomingMessage, socket: Socket) => {
    sockets.push(socket.on("error", () => undefined));
    (upstream.received as unknown[]).push(req);
    acceptWebSocket(req, socket, headers);
    onSocket(socket, req);
  });
  return {
    ...upstream,
    sockets,
  };
}

/** A client that speaks raw bytes. */
export interface RawClient {
  readonly socket: Socket;
  /** Everything received so far, as latin1. */
  text(): string;
  readonly closed: Promise<unknown>;
}

export const handshake = [
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

/** Opens a connection and sends the head of a WebSocket handshake. */
export function openRaw(
  port: number,
  target = "/api/ws",
  lines: readonly string[] = handshake,
  after = "",
): RawClient {
  const socket = connect({ port, host: "127.0.0.1" });
  const chunks: Buffer[] = [];
  socket.on("error", () => undefined).on("data", (part: Buffer) => chunks.push(part));
  socket.write(
    `${[`GET ${target} HTTP/1.1`, "Host: public.example", ...lines, "", ""].join("\r\n")}${after}`,
    "latin1",
  );
  // Not once(), which rejects when the connection is reset.
  const closed = new Promise((resolve) => socket.once("close", resolve));
  return { socket, text: () => Buffer.concat(chunks).toString("latin1"), closed };
}
