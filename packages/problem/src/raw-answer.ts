import type { Socket } from "node:net";
import { problemBody, type ProblemFields } from "./document.ts";
import { statusPhrase } from "./statuses.ts";

const LINGER_MS = 1_000;

/** Returns a problem as the bytes of a complete HTTP/1.1 response that closes its connection. */
export function rawProblem(
  fields: ProblemFields,
  instance: string,
  requestId: string,
  allow?: string,
): Buffer {
  const body = problemBody(fields, instance, requestId);
  const head =
    `HTTP/1.1 ${fields.status} ${statusPhrase(fields.status)}\r\n` +
    `Date: ${new Date().toUTCString()}\r\n` +
    `X-Request-ID: ${requestId}\r\n` +
    (allow === undefined ? "" : `Allow: ${allow}\r\n`) +
    "Cache-Control: no-store\r\n" +
    "Content-Type: application/problem+json\r\n" +
    `Content-Length: ${body.length}\r\n` +
    "Connection: close\r\n\r\n";
  return Buffer.concat([Buffer.from(head, "latin1"), body]);
}

/**
 * Writes the last bytes of a connection, and closes the connection when the client has closed its side, at the latest
 * after one second. Closing a connection with unread input would reset it, and the reset may arrive before the
 * response.
 */
export function answerAndClose(socket: Socket, bytes: Buffer): void {
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  timer.unref();
  socket.once("end", () => socket.destroy());
  socket.once("close", () => clearTimeout(timer));
  socket.end(bytes);
  socket.resume();
}

const REQUEST_LINE = /^[A-Z]{3,16} ([!-~]{1,2048}) HTTP\/1\.[01]\r?\n/;

/** Returns the target of a request that could not be parsed, when its first line is available and valid. */
export function targetOf(packet: unknown): string | undefined {
  if (!(packet instanceof Uint8Array)) return undefined;
  const text = Buffer.from(packet.buffer, packet.byteOffset, Math.min(packet.length, 2_100)).toString(
    "latin1",
  );
  return REQUEST_LINE.exec(text)?.[1];
}
