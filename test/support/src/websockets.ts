import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

/** Completes the handshake of a WebSocket. */
export function acceptWebSocket(req: IncomingMessage, socket: Socket, headers: readonly string[] = []): void {
  const key = String(req.headers["sec-websocket-key"]);
  const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
  const lines = ["HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", "Upgrade: websocket", ...headers];
  socket.write([...lines, `Sec-WebSocket-Accept: ${accept}`, "", ""].join("\r\n"));
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
