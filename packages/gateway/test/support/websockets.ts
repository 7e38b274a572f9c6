import { createHash } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { startUpstream, type Upstream } from "./servers.ts";

/** A service that accepts WebSockets and gives the test their sockets. */
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
    const key = String(req.headers["sec-websocket-key"]);
    const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
    const lines = [
      "HTTP/1.1 101 Switching Protocols",
      "Connection: Upgrade",
      "Upgrade: websocket",
      ...headers,
    ];
    socket.write([...lines, `Sec-WebSocket-Accept: ${accept}`, "", ""].join("\r\n"));
    onSocket(socket, req);
  });
  return {
    ...upstream,
    sockets,
  };
}

/** Echoes small masked text frames, unmasked, and close frames. */
export function echoFrames(socket: Socket): void {
  let held = Buffer.alloc(0);
  socket.on("data", (part: Buffer) => {
    held = Buffer.concat([held, part]);
    while (held.length >= 6) {
      const length = (held[1] ?? 0) & 0x7f;
      if (held.length < 6 + length) return;
      const mask = held.subarray(2, 6);
      const payload = held.subarray(6, 6 + length).map((byte, at) => byte ^ (mask[at % 4] ?? 0));
      socket.write(Buffer.concat([Buffer.from([held[0] ?? 0, length]), payload]));
      if (((held[0] ?? 0) & 0x0f) === 8) socket.end();
      held = held.subarray(6 + length);
    }
  });
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
  return { socket, text: () => Buffer.concat(chunks).toString("latin1"), closed: once(socket, "close") };
}
