import { connect as connectPlain, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { type Answer, NoAnswer } from "./answer.ts";
import { AnswerReader } from "./answer-reader.ts";

/** A request. Headers are sent exactly as listed, in order and with repetitions. */
export interface Outgoing {
  readonly method?: string | undefined;
  /** Path and query, appended to the base URL's path. */
  readonly path: string;
  readonly headers?: readonly (readonly [name: string, value: string])[] | undefined;
  readonly body?: string | Buffer | undefined;
  /** Replaces the host of the base URL. */
  readonly host?: string | undefined;
  /** Default: the client's timeout. */
  readonly timeoutMs?: number | undefined;
}

export interface SendOptions {
  /** Whether the request is a HEAD request. Default: false. */
  readonly isHead?: boolean | undefined;
  /** Further bytes, sent after a short wait unless a response arrives first. Default: none. */
  readonly later?: Buffer | undefined;
  /** Default: the client's timeout. */
  readonly timeoutMs?: number | undefined;
}

/**
 * A body longer than this many bytes is sent only after a short wait for a refusal: if a service closes the connection
 * while it still receives the body, its response is lost.
 */
const patientBytes = 32 * 1024;
const patienceMs = 50;

/** Sends requests to one service, each on its own connection. */
export interface HttpClient {
  send(request: Outgoing): Promise<Answer>;
  /** Sends bytes unchanged and reads the first response. */
  sendBytes(bytes: string | Buffer, options?: SendOptions): Promise<Answer>;
  /** Returns the request line and headers as text, for callers that send the body themselves. */
  head(request: Outgoing): string;
  /** Aborts pending requests. */
  close(): void;
}

/**
 * Creates a client for the service at `base`.
 * @param defaultTimeoutMs time limit for one request, from connecting to the last byte of the response
 * @param now returns milliseconds, to measure how long a response takes
 */
export function createHttpClient(base: URL, defaultTimeoutMs: number, now: () => number): HttpClient {
  const prefix = base.pathname.replace(/\/$/, "");
  const open = new Set<Socket>();
  let closed = false;

  function head({ method = "GET", path, headers = [], host = base.host }: Outgoing): string {
    const lines = [["Host", host], ["Connection", "close"], ["Accept", "*/*"], ...headers];
    const given = new Set(headers.map(([name]) => name.toLowerCase()));
    const sent = lines.filter(
      ([name = ""], index) => index > 2 || index === 0 || !given.has(name.toLowerCase()),
    );
    return `${method} ${prefix}${path} HTTP/1.1\r\n${sent.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`;
  }

  async function sendBytes(bytes: string | Buffer, options: SendOptions = {}): Promise<Answer> {
    const { isHead = false, later, timeoutMs = defaultTimeoutMs } = options;
    if (closed) throw new NoAnswer("the run exceeded its time limit (totalSeconds)");
    const socket = connect(base);
    open.add(socket);
    let sentAt = now();
    const reader = new AnswerReader(isHead, () => now() - sentAt);
    const timer = setTimeout(() => reader.fail(`no complete answer within ${timeoutMs / 1000} s`), timeoutMs);
    // A server may respond and close the connection while the request is still being sent. That response counts.
    const end = (reason: string): void => (reader.isEmpty ? reader.fail(reason) : reader.end());
    socket.setNoDelay(true);
    socket.once(base.protocol === "https:" ? "secureConnect" : "connect", () => {
      sentAt = now();
      socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes);
      if (later === undefined) return;
      setTimeout(() => {
        if (open.has(socket) && reader.isEmpty) socket.write(later);
      }, patienceMs);
    });
    socket.on("data", (chunk: Buffer) => reader.add(chunk));
    socket.on("error", (error) => end(reasonOf(error)));
    socket.on("close", () => end("the connection was closed without a response"));
    try {
      return await reader.answer;
    } finally {
      clearTimeout(timer);
      open.delete(socket);
      socket.destroy();
    }
  }

  return {
    head,
    sendBytes,
    send(request) {
      const body = typeof request.body === "string" ? Buffer.from(request.body) : request.body;
      const headers = request.headers ?? [];
      const all =
        body === undefined ? headers : [...headers, ["Content-Length", String(body.length)] as const];
      const bytes = Buffer.from(head({ ...request, headers: all }), "latin1");
      const options = { isHead: request.method === "HEAD", timeoutMs: request.timeoutMs };
      const sent =
        body !== undefined && body.length > patientBytes
          ? sendBytes(bytes, { ...options, later: body })
          : sendBytes(body === undefined ? bytes : Buffer.concat([bytes, body]), options);
      return sent.catch((error: unknown) => {
        if (!(error instanceof NoAnswer)) throw error;
        throw new NoAnswer(`${error.message} (${request.method ?? "GET"} ${request.path.split("?", 1)[0]})`);
      });
    },
    close() {
      closed = true;
      for (const socket of open)
        socket.destroy(new NoAnswer("the run exceeded its time limit (totalSeconds)"));
    },
  };
}

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  return code === "ECONNREFUSED" ? `${code}: no server listens there` : (code ?? message);
}

function connect(base: URL): Socket {
  const host = base.hostname.replace(/^\[|\]$/g, "");
  if (base.protocol === "https:") {
    return connectTls({
      host,
      port: Number(base.port || 443),
      // Server Name Indication (RFC 6066) does not allow IP addresses.
      servername: isIP(host) === 0 ? host : "",
      ALPNProtocols: ["http/1.1"],
    });
  }
  return connectPlain({ host, port: Number(base.port || 80) });
}
