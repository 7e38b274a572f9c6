import { connect } from "node:net";
import { readAnswers } from "./answers.ts";

/** A connection that sends one byte at a time, or nothing, and how it ended. */
export interface SlowConnection extends Disposable {
  /** Resolves with the milliseconds from connecting to the close; stays pending while the connection is open. */
  readonly closed: Promise<number>;
  /** When it started to connect, by `performance.now()`. */
  readonly startedAt: number;
  /** Milliseconds for which the connection was open; undefined while it is open. */
  readonly ms: number | undefined;
  /** The status of the response before the close, if there was one. */
  readonly status: number | undefined;
}

interface Slow {
  /** The bytes sent immediately after connecting. */
  readonly head: string;
  /** Bytes sent repeatedly, one at a time; empty: no more bytes are sent. */
  readonly drip: string;
  readonly everyMs: number;
  /** Whether the response is read. Default: true. */
  readonly reads?: boolean;
}

export function slowConnection(port: number, { head, drip, everyMs, reads = true }: Slow): SlowConnection {
  const started = performance.now();
  const socket = connect({ port, host: "127.0.0.1" });
  const chunks: Buffer[] = [];
  let ms: number | undefined;
  let sent = 0;
  socket.on("connect", () => {
    if (head !== "") socket.write(head);
    if (!reads) socket.pause();
  });
  const timer = setInterval(() => {
    if (drip !== "" && socket.writable) socket.write(drip.charAt(sent++ % drip.length));
  }, everyMs);
  if (reads) socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  socket.on("error", () => undefined);
  const closed = new Promise<number>((resolve) => {
    socket.on("close", () => {
      clearInterval(timer);
      ms = performance.now() - started;
      resolve(ms);
    });
  });
  return {
    closed,
    startedAt: started,
    get ms() {
      return ms;
    },
    get status() {
      return readAnswers(Buffer.concat(chunks), false, true).answers[0]?.status;
    },
    [Symbol.dispose]() {
      clearInterval(timer);
      socket.destroy();
    },
  };
}
