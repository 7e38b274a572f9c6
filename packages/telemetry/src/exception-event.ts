import { sqlStateOf } from "@svc/sql";
import { cutText } from "./attributes.ts";

/** Longest recorded stack, in characters. */
const MAX_STACK = 8192;
const DEEPEST_CAUSE = 8;

/** Attributes of the event `exception` (TRACE-17). */
export type ExceptionAttributes = Readonly<Record<string, string>>;

/**
 * Returns the attributes of an error: type, message and stack. An error of PostgreSQL has type, SQLSTATE and stack frames
 * only, because its message may quote bound values (TRACE-15).
 */
export function exceptionAttributes(error: unknown): ExceptionAttributes {
  if (!(error instanceof Error))
    return { "exception.type": typeof error, "exception.message": textOf(error) };
  const type = cutText(typeof error.name === "string" && error.name !== "" ? error.name : "Error");
  const message = String(error.message);
  const stack = typeof error.stack === "string" ? error.stack : "";
  const state = quotedState(error, message);
  if (state === undefined) {
    return {
      "exception.type": type,
      "exception.message": cutText(message),
      "exception.stacktrace": cutText(stack, MAX_STACK),
    };
  }
  return {
    "exception.type": type,
    "error.type": state,
    "exception.stacktrace": cutText(framesOf(stack, message), MAX_STACK),
  };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? cutText(value) : "a value that is not an Error";
}

/** Returns the SQLSTATE of an error, or that of a cause whose message the error repeats. */
function quotedState(error: Error, message: string): string | undefined {
  let each: unknown = error;
  for (let depth = 0; depth < DEEPEST_CAUSE && each instanceof Error; depth++) {
    const { code } = each as { readonly code?: unknown };
    const state = sqlStateOf({ code });
    if (state !== undefined && (each === error || message.includes(each.message))) return state;
    each = each.cause;
  }
  return undefined;
}

/** Returns the frames of a stack, without the message at its beginning. */
function framesOf(stack: string, message: string): string {
  const start = message === "" ? -1 : stack.indexOf(message);
  const after = start === -1 ? stack : stack.slice(start + message.length);
  return after
    .split("\n")
    .filter((line) => line.startsWith("    at "))
    .join("\n");
}
