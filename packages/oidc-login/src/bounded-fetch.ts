import { withDeadline } from "@svc/resilience";

/** Maximum size of a response in bytes, about a hundred times what providers send. */
export const MOST_BYTES = 262_144;

/** A response with its complete body. */
export interface BoundedAnswer {
  readonly status: number;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** Sends a request and reads the response, both within one deadline. Does not follow redirects. */
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
  // Throwing out of the loop cancels the stream, which closes the connection.
  for await (const chunk of response.body ?? []) {
    length += chunk.byteLength;
    if (length > MOST_BYTES) throw new RangeError(`the answer is larger than ${MOST_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}

/** Parses a JSON object; undefined for anything else. */
export function jsonObject(body: Uint8Array): Record<string, unknown> | undefined {
  const value = json(body);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return value as Record<string, unknown>;
}

/** Parses JSON; undefined when it is malformed. */
export function json(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}

/** Returns the name of an error of `fetch`. Its message may contain the request, so it is left out. */
export function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}
