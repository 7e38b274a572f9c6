import { connect } from "node:net";

/** The response bytes that arrived before the connection closed. */
export interface RawAnswer {
  /** All received bytes, as latin1 text. */
  readonly text: string;
  /** The status of the first response; undefined if the server closed the connection without one. */
  readonly status: number | undefined;
  /** Headers by lower-case name; the last one wins when a name repeats. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const LATE_MS = 20;

/**
 * Sends exactly these bytes, for requests that no HTTP client would send. Reads until the server closes the connection,
 * or sends no byte for `idleMs` milliseconds after its first bytes, for at most `endMs`.
 */
export function rawRequest(
  port: number,
  bytes: string | Buffer,
  { idleMs = 250, endMs = 10_000 } = {},
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1" });
    const chunks: Buffer[] = [];
    let idle: NodeJS.Timeout | undefined;
    let end = setTimeout(() => socket.destroy(), endMs);
    const wait = (): void => {
      clearTimeout(idle);
      const due = performance.now() + idleMs;
      // A timer that fires late means that this process stalled, not that the server is idle.
      idle = setTimeout(() => (performance.now() - due > LATE_MS ? wait() : socket.destroy()), idleMs);
    };
    socket.on("connect", () => {
      socket.write(bytes);
      clearTimeout(end);
      end = setTimeout(() => socket.destroy(), endMs);
    });
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      wait();
    });
    socket.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ECONNREFUSED") reject(error);
    });
    socket.on("close", () => {
      clearTimeout(idle);
      clearTimeout(end);
      resolve(parse(Buffer.concat(chunks).toString("latin1")));
    });
  });
}

function parse(text: string): RawAnswer {
  const split = text.indexOf("\r\n\r\n");
  const head = split === -1 ? text : text.slice(0, split);
  const [statusLine = "", ...lines] = head.split("\r\n");
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(statusLine)?.[1];
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  return {
    text,
    status: status === undefined ? undefined : Number(status),
    headers,
    body: split === -1 ? "" : text.slice(split + 4),
  };
}
