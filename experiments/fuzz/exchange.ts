import { connect } from "node:net";
import { readAnswers, type Received } from "../harness/answers.ts";
import type { Case } from "./generator.ts";

/** The bytes that the service sent for one case, and the end of the connection. */
export interface Exchange extends Received {
  /** The local port of the connection, by which the service reports which requests reached a route. */
  readonly localPort: number;
  /** Whether the service has closed the connection. */
  readonly closed: boolean;
  /** Why the connection failed; undefined if it did not. */
  readonly error: string | undefined;
}

const idleMs = 20;

/** Sends a case over a new connection, and reads until no further response is expected. */
export function exchange(port: number, { bytes, pieces }: Case, lastMs: number): Promise<Exchange> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    const chunks: Buffer[] = [];
    const toHead = /^[\r\n]*HEAD /.test(bytes.toString("latin1", 0, 16));
    let localPort = 0;
    let error: string | undefined;
    let closed = false;
    let idle: NodeJS.Timeout | undefined;
    const last = setTimeout(() => socket.destroy(), lastMs);

    socket.on("connect", () => {
      localPort = socket.localPort ?? 0;
      write(0);
    });
    function write(piece: number): void {
      if (piece >= pieces || !socket.writable) return;
      const size = Math.ceil(bytes.length / pieces);
      socket.write(bytes.subarray(piece * size, (piece + 1) * size));
      setTimeout(write, 1, piece + 1);
    }
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      clearTimeout(idle);
      const { answers, rest } = readAnswers(Buffer.concat(chunks), toHead, false);
      // Another response may follow on the same connection.
      if (answers.length > 0 && rest === 0) idle = setTimeout(() => socket.destroy(), idleMs);
    });
    socket.on("end", () => (closed = true));
    socket.on("error", ({ code, message }: NodeJS.ErrnoException) => {
      closed = true;
      error = code ?? message;
    });
    socket.on("close", () => {
      clearTimeout(idle);
      clearTimeout(last);
      resolve({ ...readAnswers(Buffer.concat(chunks), toHead, closed), localPort, closed, error });
    });
  });
}
