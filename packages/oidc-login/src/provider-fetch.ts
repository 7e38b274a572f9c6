import { type BoundedAnswer, boundedFetch, jsonOf } from "@svc/resilience";

/** Maximum size of a response in bytes, about a hundred times what providers send. */
const MOST_BYTES = 262_144;

/** Sends a request to a provider and reads the response within one deadline. Does not follow redirects. */
export function providerFetch(
  fetch: typeof globalThis.fetch,
  url: string,
  init: RequestInit,
  timeoutMs: number,
): Promise<BoundedAnswer> {
  return boundedFetch(url, init, { timeoutMs, maxBytes: MOST_BYTES, fetch });
}

/** Parses a JSON object; undefined for anything else. */
export function jsonObject(body: Uint8Array): Record<string, unknown> | undefined {
  const value = jsonOf(body);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return value as Record<string, unknown>;
}

/** Returns the name of an error from `fetch`. Omits its message, which may contain the request. */
export function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}
