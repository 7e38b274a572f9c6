import { storedHeaders } from "@svc/context";
import type { ServerResponse } from "node:http";

/** A header with a fixed value. */
export interface Header {
  readonly name: string;
  /** The name in lower case, as Node stores it. */
  readonly key: string;
  readonly value: string;
}

/** Returns a header with a fixed value. */
export function header(name: string, value: string): Header {
  return { name, key: name.toLowerCase(), value };
}

/**
 * Sets headers that a response does not have yet. Skips Node's check of names and values, which would cost more per
 * response than all other work in the service. The values are fixed, so one check is enough.
 */
export function seedHeaders(res: ServerResponse, headers: readonly Header[]): void {
  const stored = storedHeaders(res);
  if (stored === undefined) {
    for (const { key, name, value } of headers) if (!res.hasHeader(key)) res.setHeader(name, value);
    return;
  }
  // The third member marks headers set by this function; Node ignores it.
  for (const { key, name, value } of headers) stored[key] ??= [name, value, true];
}

/** Returns whether a header is unchanged since {@link seedHeaders} set it. */
export function isSeeded(res: ServerResponse, { key, value }: Header): boolean {
  const stored = storedHeaders(res);
  if (stored === undefined) return res.getHeader(key) === value;
  return stored[key]?.[2] === true && stored[key][1] === value;
}
