const longestText = 16_384;
const deepestCause = 5;

/** The fields of an error in a log record. */
export interface ErrorFields {
  readonly type: string;
  readonly message: string;
  readonly code?: string | number;
  readonly status?: number;
  readonly stack: string;
}

/**
 * Returns the type, message, code and status of an error, and its stack with the stacks of its causes. Omits other
 * properties, which often contain requests, rows and headers. Returns a value that is not an error unchanged.
 */
export function errorFields(thrown: unknown): unknown {
  if (!isErrorLike(thrown)) return thrown;
  try {
    const { code, status } = thrown;
    const type = typeof thrown.name === "string" && thrown.name !== "" ? thrown.name : "Error";
    const fields: ErrorFields = {
      type: cut(type === "Error" && thrown.constructor?.name ? thrown.constructor.name : type),
      message: cut(thrown.message),
      ...(typeof code === "string" ? { code: cut(code) } : typeof code === "number" ? { code } : {}),
      ...(typeof status === "number" ? { status } : {}),
      stack: cut(stackWithCauses(thrown, deepestCause)),
    };
    return fields;
  } catch {
    return { type: "Error", message: "an error that could not be converted to text", stack: "" };
  }
}

interface ErrorLike {
  readonly name?: unknown;
  readonly message: string;
  readonly stack?: unknown;
  readonly cause?: unknown;
  readonly errors?: unknown;
  readonly code?: unknown;
  readonly status?: unknown;
}

function isErrorLike(thrown: unknown): thrown is ErrorLike {
  if (typeof thrown !== "object" || thrown === null) return false;
  try {
    return (
      thrown instanceof Error || (typeof (thrown as ErrorLike).message === "string" && "stack" in thrown)
    );
  } catch {
    return false;
  }
}

function stackWithCauses(error: ErrorLike, depth: number): string {
  let text = typeof error.stack === "string" ? error.stack : String(error.message);
  if (depth === 0) return text;
  if (isErrorLike(error.cause)) text += `\ncaused by: ${stackWithCauses(error.cause, depth - 1)}`;
  if (Array.isArray(error.errors)) {
    for (const each of error.errors.slice(0, 5)) {
      if (isErrorLike(each)) text += `\none of its errors: ${stackWithCauses(each, 0)}`;
    }
  }
  return text;
}

/** Truncates a string to the maximum length for a log record. */
export function cut(text: string): string {
  return text.length > longestText ? `${text.slice(0, longestText)}...` : text;
}
