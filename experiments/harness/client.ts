import { Agent, request } from "node:http";

/** The result of one request. */
export interface Outcome {
  /** The response status; 0 when there is no complete response. */
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: string;
  readonly ms: number;
  /** Why there is no complete response; undefined when there is one. */
  readonly error: string | undefined;
}

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** The body, sent as JSON. */
  readonly json?: object | undefined;
  /** Parts of the body, sent as the iterable yields them. */
  readonly parts?: AsyncIterable<Uint8Array> | undefined;
  /** `false` opens a separate connection for this request. Default: `false`. */
  readonly agent?: Agent | false;
  /** Milliseconds without a response after which the request counts as failed. Default: 30,000. */
  readonly deadlineMs?: number;
}

/** The shortest deadline in milliseconds that is extended after a stall of this process. */
const leastMs = 1000;
const mostExtensions = 5;
/** Milliseconds by which a timer may be late without counting as a stall. */
const usualMs = 50;

/** Sends one request over the loopback interface. Never rejects: resolves with an outcome for every failure too. */
export function send(port: number, path: string, sent: Sent = {}): Promise<Outcome> {
  const { method = "GET", json, parts, agent = false, deadlineMs = 30_000 } = sent;
  const text = json === undefined ? undefined : JSON.stringify(json);
  const headers = { ...(text === undefined ? {} : jsonHeaders(text)), ...sent.headers };
  const started = performance.now();
  return new Promise((resolve) => {
    let last: string | undefined;
    const done = (outcome: Partial<Outcome>): void => {
      clearTimeout(timer);
      const ms = performance.now() - started;
      resolve({ status: 0, headers: {}, body: "", error: last, ms, ...outcome });
    };
    const req = request({ host: "127.0.0.1", port, path, method, headers, agent }, (res) => {
      const chunks: Buffer[] = [];
      res.on("data", (chunk: Buffer) => chunks.push(chunk));
      res.on("error", (error) => done({ error: codeOf(error) }));
      res.on("end", () => {
        const body = Buffer.concat(chunks).toString();
        done(
          res.complete ? { status: res.statusCode ?? 0, headers: res.headers, body } : { error: "cut off" },
        );
      });
    });
    let due = started + deadlineMs;
    let extensions = 0;
    const expire = (): void => {
      const lateMs = performance.now() - due;
      // After a stall, read the bytes that have arrived before giving up. Do not extend a short deadline, which is
      // meant to expire.
      if (deadlineMs >= leastMs && lateMs > usualMs && extensions++ < mostExtensions) {
        due += 2 * lateMs;
        timer = setTimeout(expire, lateMs);
        return;
      }
      last = `no response within ${deadlineMs} ms`;
      req.destroy(new Error(last));
    };
    let timer = setTimeout(expire, deadlineMs);
    req.on("error", (error) => done({ error: last ?? codeOf(error) }));
    req.on("close", () => done({ error: last ?? "closed" }));
    if (parts === undefined) req.end(text);
    else void write(req, parts);
  });
}

function jsonHeaders(text: string): Record<string, string> {
  return { "Content-Type": "application/json", "Content-Length": String(Buffer.byteLength(text)) };
}

async function write(req: ReturnType<typeof request>, parts: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const part of parts) {
    if (req.destroyed) return;
    req.write(part);
  }
  req.end();
}

function codeOf(error: Error): string {
  return (error as NodeJS.ErrnoException).code ?? error.message;
}

/** Creates an agent that keeps at most `maxSockets` connections. Destroy it at the end. */
export function keepAliveAgent(maxSockets: number): Agent {
  return new Agent({ keepAlive: true, maxSockets });
}

/** Counts equal strings and returns a summary such as `3 x ECONNRESET, 1 x 503`. */
export function tally(texts: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return [...counts].map(([text, count]) => `${count} x ${text}`).join(", ") || "none";
}
