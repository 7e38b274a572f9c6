import { sqlStateOf } from "@svc/sql";
import { cutText, MAX_TEXT } from "./attributes.ts";

/** Longest recorded stack, in characters. */
export const MAX_STACK = 8192;
/** Number of errors in an error that are searched for an SQLSTATE. */
const MAX_ERRORS = 1000;
const NAME = /^[^\n:]*$/;

/** Attributes of the event `exception` (TRACE-17). */
export type ExceptionAttributes = Readonly<Record<string, string>>;

/**
 * Returns the attributes of an error: type, message and stack. For a PostgreSQL error, and for an error that one caused, it
 * returns only type, SQLSTATE and stack frames: both messages may quote bound values (TRACE-15).
 */
export function exceptionAttributes(error: unknown): ExceptionAttributes {
  if (!(error instanceof Error))
    return { "exception.type": typeof error, "exception.message": textOf(error) };
  const type = cutText(textIn(error, "name") || "Error");
  const message = textIn(error, "message");
  const stack = textIn(error, "stack");
  const state = sqlStateIn(error);
  if (state === undefined) {
    return {
      "exception.type": type,
      "exception.message": cutText(message),
      "exception.stacktrace": cutText(shortened(stack, type, message), MAX_STACK),
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

/** Returns a member of an error; empty if it is not a string, or if its getter throws. */
function textIn(error: Error, member: "name" | "message" | "stack"): string {
  try {
    const value: unknown = error[member];
    return typeof value === "string" ? value : "";
  } catch {
    return "";
  }
}

/** Returns the SQLSTATE of an error, of a cause, or of an error in an `AggregateError`, at any depth. */
function sqlStateIn(error: Error): string | undefined {
  try {
    const all = new Set<unknown>([error]);
    // The loop also visits the errors that it adds.
    for (const each of all) {
      const state = sqlStateOf(each);
      if (state !== undefined) return state;
      for (const inner of innerErrors(each)) {
        if (all.size < MAX_ERRORS) all.add(inner);
      }
    }
  } catch {
    // A getter threw, and PostgreSQL errors have no getters.
  }
  return undefined;
}

function innerErrors(error: unknown): readonly unknown[] {
  if (!(error instanceof Error)) return [];
  const errors = error instanceof AggregateError ? (error.errors as readonly unknown[]) : [];
  return error.cause === undefined ? errors : [error.cause, ...errors];
}

/** Returns the stack, with the message in its first line truncated like the message itself. */
function shortened(stack: string, type: string, message: string): string {
  if (message.length <= MAX_TEXT) return stack;
  return `${type}: ${cutText(message)}\n${framesOf(stack, message)}`;
}

/**
 * Returns the frames of a stack, without the message at its beginning. Returns an empty text if the stack begins with another
 * message, whose lines may look like frames.
 */
export function framesOf(stack: string, message: string): string {
  const header = message === "" ? "" : `: ${message}`;
  const end = stack.indexOf(`${header}\n    at `);
  if (end === -1 || !NAME.test(stack.slice(0, end))) return "";
  return stack
    .slice(end + header.length + 1)
    .split("\n")
    .filter((line) => line.startsWith("    at "))
    .join("\n");
}
