import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "undici";

/** A response that was read within its limits. */
export interface BoundedAnswer {
  readonly status: number;
  readonly contentType: string;
  /** The body; undefined if it is larger than the limit. */
  readonly body: string | undefined;
}

/** The limits of {@link boundedGet}. */
export interface Bounds {
  /** Time limit in milliseconds, up to the last byte of the body. */
  readonly ms: number;
  readonly bytes: number;
}

/**
 * Sends a GET request on its own connection, without following redirects.
 *
 * @returns undefined if the time limit passes
 * @throws the error of the connection
 */
export async function boundedGet(
  origin: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  { ms, bytes }: Bounds,
  signal?: AbortSignal,
): Promise<BoundedAnswer | undefined> {
  // The time limit of undici restarts with every interim response, so the total has its own timer.
  const client = new Client(origin, { connect: { timeout: ms }, headersTimeout: 0, bodyTimeout: 0 });
  const ended = new AbortController();
  const read = readAnswer(client, path, headers, bytes, ended.signal);
  const timer = sleep(ms, undefined, { signal: ended.signal }).catch(() => undefined);
  const stop = (): void => ended.abort();
  try {
    signal?.addEventListener("abort", stop, { once: true });
    if (signal?.aborted === true) stop();
    return await Promise.race([read, timer]);
  } finally {
    signal?.removeEventListener("abort", stop);
    ended.abort();
    // Ignore: the request fails when its connection is destroyed, after the result was decided.
    read.catch(() => undefined);
    await client.destroy();
  }
}

async function readAnswer(
  client: Client,
  path: string,
  headers: Readonly<Record<string, string>>,
  bytes: number,
  signal: AbortSignal,
): Promise<BoundedAnswer> {
  const {
    statusCode,
    headers: received,
    body,
  } = await client.request({ method: "GET", path, headers, signal });
  const contentType = String(received["content-type"] ?? "");
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of body as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > bytes) return { status: statusCode, contentType, body: undefined };
    pieces.push(piece);
  }
  return { status: statusCode, contentType, body: Buffer.concat(pieces).toString() };
}
