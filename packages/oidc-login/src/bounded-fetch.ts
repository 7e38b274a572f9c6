import { withDeadline } from "@svc/resilience";

/** As much of an answer is read; what providers send is a hundredth of it. */
export const MOST_BYTES = 262_144;

/** An answer that has been read to its end. */
export interface BoundedAnswer {
  readonly status: number;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** Sends a request and reads its answer, both within one deadline. Redirects are answers. */
export async function boundedFetch(
  fetch: typeof globalThis.fetch,
  url: string,
  init: RequestInit,
  timeoutMs: number,
): Promise<BoundedAnswer> {
  return withDeadline(timeoutMs, async (signal) => {
    const response = await fetch(url, { ...init, redirect: "manual", signal });
    return { status: response.status, body: await bytesOf(response) };
  });
}

async function bytesOf(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  // Leaving the loop by a throw cancels the stream, and with it the connection.
  for await (const chunk of response.body ?? []) {
    length += chunk.byteLength;
    if (length > MOST_BYTES) throw new RangeError(`the answer is larger than ${MOST_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}

/** A JSON object, or undefined for everything else. */
export function jsonObject(body: Uint8Array): Record<string, unknown> | undefined {
  const value = json(body);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return value as Record<string, unknown>;
}

/** A JSON document, or undefined. */
export function json(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}

/** All that is said of an error of `fetch`: its message may hold what was to be sent. */
export function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}
