import { cut } from "./json-safe.ts";
import { ProblemError } from "./problem-error.ts";
import { GENERIC_DETAIL, defaultDetail } from "./statuses.ts";
import type { SendableProblem } from "./send.ts";

// These replace messages that quote the request: the message of body-parser for malformed JSON quotes the body, and the
// message of a decoding error quotes the path.
const MALFORMED_JSON = "the body is not valid JSON";
const UNDECODABLE_PATH = "the path is not validly percent-encoded";

/**
 * Returns the problem for an error from another library. Keeps the status of an error with a boolean `expose` (http-errors,
 * body-parser) and of a 400 URIError, and the message if `expose` is true. An HTTP client's error also has a status, but that
 * is another service's status. Never throws, for any value.
 */
export function problemFor(error: unknown, debug: boolean): SendableProblem {
  const status = statusOf(error);
  if (status === undefined) {
    const message = debug ? messageOf(error) : GENERIC_DETAIL;
    return new ProblemError(500, message === "" ? undefined : cut(message, 2_000));
  }
  return new ProblemError(status, detailOf(error, status, debug), { headers: headersOf(error) });
}

function statusOf(error: unknown): number | undefined {
  const status = read(error, "status") ?? read(error, "statusCode");
  if (!Number.isInteger(status)) return undefined;
  const value = status as number;
  if (value === 400 && isUriError(error)) return value;
  return typeof read(error, "expose") === "boolean" && value >= 400 && value <= 599 ? value : undefined;
}

function detailOf(error: unknown, status: number, debug: boolean): string {
  if (status === 401) return defaultDetail(status);
  if (read(error, "type") === "entity.parse.failed") return MALFORMED_JSON;
  if (isUriError(error)) return UNDECODABLE_PATH;
  const message = read(error, "expose") === true || debug ? cut(messageOf(error)) : "";
  return message === "" ? defaultDetail(status) : message;
}

function headersOf(error: unknown): Record<string, string | number | readonly string[]> | undefined {
  const headers = read(error, "headers");
  if (typeof headers !== "object" || headers === null) return undefined;
  const copy: Record<string, string | number | readonly string[]> = {};
  for (const name of keysOf(headers)) {
    const value = read(headers, name);
    if (typeof value === "string" || typeof value === "number") copy[name] = value;
    else if (Array.isArray(value) && value.every((each) => typeof each === "string")) copy[name] = value;
  }
  return copy;
}

function isUriError(error: unknown): boolean {
  return read(error, "name") === "URIError";
}

/** Returns the message of any thrown value. */
export function messageOf(error: unknown): string {
  if (typeof error === "string") return error;
  const message = read(error, "message");
  return typeof message === "string" ? message : "";
}

/** Returns a property of any value; undefined when it cannot be read. */
export function read(holder: unknown, name: string): unknown {
  try {
    return (holder as Record<string, unknown> | null | undefined)?.[name];
  } catch {
    return undefined;
  }
}

function keysOf(holder: object): string[] {
  try {
    return Object.keys(holder);
  } catch {
    return [];
  }
}
