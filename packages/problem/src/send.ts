import type { IncomingMessage, ServerResponse } from "node:http";
import { pathOf } from "@svc/context";
import { correlate } from "./correlation.ts";
import { problemBody, type ProblemFields } from "./document.ts";
import { isLingering, lingerThenEnd } from "./linger.ts";
import { statusPhrase } from "./statuses.ts";

/** The media type of every error body, without a charset, because JSON has none. */
export const PROBLEM_TYPE = "application/problem+json";

/** A problem to send: a `ProblemError`, or a plain object with the same members. */
export interface SendableProblem extends ProblemFields {
  readonly headers?: Readonly<Record<string, string | number | readonly string[]>> | undefined;
}

// A handler may have set these headers for a body that is no longer sent.
const STALE_HEADERS = [
  "Content-Encoding",
  "Content-Language",
  "Content-Range",
  "Content-Disposition",
  "Content-Location",
  "Transfer-Encoding",
  "Trailer",
  "ETag",
  "Last-Modified",
  "Expires",
] as const;

const OWN_HEADERS: ReadonlySet<string> = new Set([
  "content-type",
  "content-length",
  "transfer-encoding",
  "x-request-id",
]);

/**
 * Responds to a request with a problem document (ERR-1, ERR-2). Sends `Cache-Control: no-store`, because the body belongs to
 * one request, and `WWW-Authenticate: Bearer` with a 401 that names no other scheme. If the response head has already been
 * sent, destroys the connection instead, so that the client does not mistake a partial response for a complete response.
 */
export function sendProblem(req: IncomingMessage, res: ServerResponse, problem: SendableProblem): void {
  if (res.headersSent) {
    if (!res.writableEnded && !isLingering(res)) res.destroy();
    return;
  }
  const body = prepareProblem(req, res, problem);
  if (res.getHeader("Connection") === "close" && isBodyUnderWay(req)) lingerThenEnd(req, res, body);
  else finish(req, res, body);
}

/** Sets status and headers of a problem on a response, and returns the body. */
export function prepareProblem(req: IncomingMessage, res: ServerResponse, problem: SendableProblem): Buffer {
  const { status, headers } = problem;
  const requestId = correlate(req, res);
  for (const name of STALE_HEADERS) res.removeHeader(name);
  res.setHeader("Cache-Control", "no-store");
  if (headers !== undefined) setHeaders(req, res, headers);
  if (status === 401 && !res.hasHeader("WWW-Authenticate")) res.setHeader("WWW-Authenticate", "Bearer");
  const body = problemBody(problem, pathOf(req), requestId);
  start(req, res, status, PROBLEM_TYPE, body.length);
  return body;
}

function isBodyUnderWay(req: IncomingMessage): boolean {
  if (req.complete) return false;
  const length = req.headers["content-length"];
  return req.headers["transfer-encoding"] !== undefined || (length !== undefined && length !== "0");
}

/**
 * Responds to a request with JSON as exactly `application/json`. Sends a `Uint8Array` unchanged and serialises other values.
 * A HEAD request gets only the headers.
 *
 * @throws TypeError when `value` has no JSON form
 */
export function sendJson(
  req: IncomingMessage,
  res: ServerResponse,
  status: number,
  value: unknown,
  headers?: Readonly<Record<string, string | number | readonly string[]>>,
): void {
  const body = value instanceof Uint8Array ? value : Buffer.from(jsonText(value));
  if (headers !== undefined)
    for (const name of Object.keys(headers)) res.setHeader(name, headers[name] ?? "");
  start(req, res, status, "application/json", body.length);
  finish(req, res, body);
}

function jsonText(value: unknown): string {
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) throw new TypeError(`a value of type ${typeof value} cannot be serialized as JSON`);
  return text;
}

function start(
  req: IncomingMessage,
  res: ServerResponse,
  status: number,
  type: string,
  length: number,
): void {
  res.statusCode = status;
  // HTTP/2 has no status message, and Node warns when one is set.
  if (status >= 400 && req.httpVersionMajor < 2) res.statusMessage = statusPhrase(status);
  res.setHeader("Content-Type", type);
  res.setHeader("Content-Length", length);
}

function finish(req: IncomingMessage, res: ServerResponse, body: Uint8Array): void {
  if (req.method === "HEAD") res.end();
  else res.end(body);
}

function setHeaders(
  req: IncomingMessage,
  res: ServerResponse,
  headers: NonNullable<SendableProblem["headers"]>,
): void {
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    const known = name.toLowerCase();
    if (value === undefined || OWN_HEADERS.has(known)) continue;
    // The header is only valid in HTTP/1, and Node warns about it in HTTP/2.
    if (known === "connection" && req.httpVersionMajor >= 2) continue;
    try {
      res.setHeader(name, value);
    } catch {
      // An invalid header must not prevent the response.
    }
  }
}
