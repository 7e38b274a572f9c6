import type { IncomingMessage, ServerResponse } from "node:http";
import { contextOf } from "@svc/context";
import { correlate } from "./correlation.ts";
import { messageOf, problemFor, read } from "./foreign-error.ts";
import { cut, jsonSafe } from "./json-safe.ts";
import { type ProblemHandlerOptions, problemHandlerOptions, type ProblemLogger } from "./options.ts";
import { isProblemError } from "./problem-error.ts";
import { sendProblem } from "./send.ts";

/** The response property that holds the error as thrown, for telemetry. */
export const RESPONSE_ERROR: unique symbol = Symbol.for("@svc/problem/1/error") as never;

interface WithError extends ServerResponse {
  [RESPONSE_ERROR]?: unknown;
}

/** An error handler for Connect, Express 4 and Express 5, with exactly four parameters. */
export type ErrorMiddleware = (
  error: unknown,
  req: IncomingMessage,
  res: ServerResponse,
  next: (error?: unknown) => void,
) => void;

/**
 * Turns every error of a request into a problem document (ERR-1, ERR-7, ERR-8). Sends a `ProblemError` unchanged, keeps the
 * status of an error with a boolean `expose`, and turns every other error into a 500 that shows no reason. Logs every
 * response with a status of 500 or higher once, at error level, with the error. Mount it last.
 *
 * @throws ConfigurationError for unknown or invalid options
 */
export function problemHandler(options?: ProblemHandlerOptions): ErrorMiddleware {
  const { debug, logger } = problemHandlerOptions.resolve(options);
  return function problemHandlerMiddleware(error, req, res, _next): void {
    (res as WithError)[RESPONSE_ERROR] = error;
    const log = logger ?? contextOf(req)?.log;
    if (isClientGone(error, req)) {
      write(log, "debug", error, req, 499, "the client disconnected");
      res.destroy();
      return;
    }
    const problem = isProblemError(error) ? error : problemFor(error, debug);
    if (!res.headersSent) correlate(req, res);
    if (res.headersSent) {
      // A 4xx error after the end of the response does not change the response, so do not log it as an error.
      const level = res.writableEnded && problem.status < 500 ? "debug" : "error";
      write(log, level, error, req, problem.status, "a response failed after its head had been sent");
    } else if (problem.status >= 500) {
      write(log, "error", error, req, problem.status, "a request failed");
    }
    sendProblem(req, res, problem);
  };
}

/** Returns the error of a response as thrown; undefined if no error caused it. */
export function responseError(res: ServerResponse): unknown {
  return (res as WithError)[RESPONSE_ERROR];
}

const ABORTS: ReadonlySet<unknown> = new Set([
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ABORT_ERR",
  "ERR_STREAM_PREMATURE_CLOSE",
  "ERR_STREAM_DESTROYED",
  "ERR_SVC_BODY_INCOMPLETE",
]);

// Check the socket and the error: a reset by a database has the same code, and an unrelated error may follow after the
// client has disconnected.
function isClientGone(error: unknown, req: IncomingMessage): boolean {
  return (
    read(req.socket, "destroyed") === true &&
    (ABORTS.has(read(error, "code")) || read(error, "name") === "AbortError")
  );
}

function write(
  log: ProblemLogger | undefined,
  level: "debug" | "error",
  error: unknown,
  req: IncomingMessage,
  status: number,
  message: string,
): void {
  if (log === undefined) return;
  const id = contextOf(req)?.requestId;
  const fields = { http_status: status, ...(id === undefined || id === "" ? {} : { request_id: id }) };
  try {
    settled(log[level]({ err: isError(error) ? error : described(error), ...fields }, message));
  } catch {
    // The logger could not log the error itself, for example because of a getter that throws or a cycle of causes.
    tryWrite(log, level, { err: described(error), ...fields }, message);
  }
}

function tryWrite(log: ProblemLogger, level: "debug" | "error", fields: object, message: string): void {
  try {
    settled(log[level](fields, message));
  } catch {
    // The client must get its response even when the logger fails.
  }
}

/** Handles an async logger's rejection, which would otherwise end the process. */
function settled(answer: unknown): void {
  if (answer instanceof Promise) answer.catch(() => undefined);
}

// Limits the logged message, because the thrown value may be large, such as a whole request.
const LONGEST_MESSAGE = 2_000;

function described(error: unknown): object {
  const message = messageOf(error);
  const stack = read(error, "stack");
  return {
    type: isError(error) ? "Error" : typeof error,
    message: cut(message === "" ? JSON.stringify(jsonSafe(error)) : message, LONGEST_MESSAGE),
    ...(typeof stack === "string" ? { stack } : {}),
  };
}

function isError(value: unknown): value is Error {
  try {
    return value instanceof Error;
  } catch {
    // The value is a revoked proxy.
    return false;
  }
}
