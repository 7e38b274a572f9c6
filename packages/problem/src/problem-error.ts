import { defaultDetail, type ProblemCode, statusCode, statusPhrase } from "./statuses.ts";

const PROBLEM: unique symbol = Symbol.for("@svc/problem/1") as never;

/** Options of a problem besides its status and detail. */
export interface ProblemOptions {
  /**
   * Machine-readable code for logs and for code that handles the error; never sent to clients. Default: the code of the
   * status.
   */
  readonly code?: ProblemCode | (string & {}) | undefined;
  /** Headers of the response. Default: none. */
  readonly headers?: Readonly<Record<string, string | number | readonly string[]>> | undefined;
  /**
   * Extra top-level members of the document, in addition to the six standard members (ERR-6). The standard names and
   * `__proto__` are ignored. Default: none.
   */
  readonly extensions?: Readonly<Record<string, unknown>> | undefined;
  /** URI reference of the problem type. Default: `about:blank`. */
  readonly type?: string | undefined;
  /** The cause, for logs; never sent to clients. Default: none. */
  readonly cause?: unknown;
  /** The title is always the phrase of the status. */
  readonly title?: never;
}

/**
 * A failure with a status and a message for the client. Throw it or pass it to `next`; `problemHandler()` sends the
 * response. Without that handler, Express itself still uses its status and headers.
 *
 * An error with a status below 500 has no stack, because it is a response and not a fault, and a stack is expensive.
 *
 * @throws RangeError when `status` is not a whole number from 400 to 599
 */
export class ProblemError extends Error {
  declare readonly name: "ProblemError";
  /** 400 to 599. */
  declare readonly status: number;
  /** Same as `message`. Every client that can send a request can read it. */
  declare readonly detail: string;
  declare readonly code: ProblemCode | (string & {});
  declare readonly headers: Readonly<Record<string, string | number | readonly string[]>> | undefined;
  declare readonly extensions: Readonly<Record<string, unknown>> | undefined;
  declare readonly type: string;
  /** Marks `message` as safe to show, for the error handlers of other libraries. */
  declare readonly expose: true;

  /**
   * @param status 400 to 599
   * @param detail default: `authentication required` for 401, the generic sentence for 500, else the phrase of the
   *   status
   */
  constructor(status: number, detail?: string, options?: ProblemOptions) {
    if (!Number.isInteger(status) || status < 400 || status > 599) {
      throw new RangeError(`the status of a problem must be a whole number from 400 to 599; it is ${status}`);
    }
    const text = detail ?? defaultDetail(status);
    const cause = options?.cause;
    if (status < 500) {
      const limit = Error.stackTraceLimit;
      Error.stackTraceLimit = 0;
      super(text);
      Error.stackTraceLimit = limit;
    } else {
      super(text);
    }
    if (cause !== undefined) {
      Object.defineProperty(this, "cause", { value: cause, writable: true, configurable: true });
    }
    this.status = status;
    this.detail = text;
    this.code = options?.code ?? statusCode(status);
    this.headers = options?.headers;
    this.extensions = options?.extensions;
    this.type = options?.type ?? "about:blank";
  }

  /** The phrase of the status (ERR-3). */
  get title(): string {
    return statusPhrase(this.status);
  }
}

// Define these on the prototype, because own properties would add cost to every error.
Object.defineProperties(ProblemError.prototype, {
  [PROBLEM]: { value: true },
  name: { value: "ProblemError", writable: true, configurable: true },
  expose: { value: true, writable: true, configurable: true },
});

/** Returns whether a value is a problem created by this or another copy of the package. Never throws. */
export function isProblemError(value: unknown): value is ProblemError {
  try {
    return typeof value === "object" && value !== null && (value as Marked)[PROBLEM] === true;
  } catch {
    return false;
  }
}

interface Marked {
  [PROBLEM]?: unknown;
}
