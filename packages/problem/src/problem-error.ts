import { defaultDetail, type ProblemCode, statusCode, statusPhrase } from "./statuses.ts";

const PROBLEM: unique symbol = Symbol.for("@svc/problem/1") as never;

/** What a problem may carry beside its status and detail. */
export interface ProblemOptions {
  /** For programs and logs, never on the wire. Default: the code of the status. */
  readonly code?: ProblemCode | (string & {}) | undefined;
  /** Headers of the response. Default: none. */
  readonly headers?: Readonly<Record<string, string | number | readonly string[]>> | undefined;
  /**
   * Extra members of the document, flat beside the six (ERR-6). The names of those six, and `__proto__`, are left
   * out. Default: none.
   */
  readonly extensions?: Readonly<Record<string, unknown>> | undefined;
  /** URI reference of the problem type. Default: `about:blank`. */
  readonly type?: string | undefined;
  /** What led to it. For the log, never on the wire. Default: none. */
  readonly cause?: unknown;
  /** The title is always the phrase of the status. */
  readonly title?: never;
}

/**
 * A failure with the status and the text that its client shall see. Thrown or passed to `next`, and answered by
 * `problemHandler()`; without one, Express's own last handler still honours its status and headers.
 *
 * An error below 500 has no stack: it is an answer, not a fault, and the stack is most of what it would cost.
 *
 * @throws RangeError when `status` is not a whole number from 400 to 599
 */
export class ProblemError extends Error {
  declare readonly name: "ProblemError";
  /** 400 to 599. */
  declare readonly status: number;
  /** Also what `message` is. Everybody who can send a request may read it. */
  declare readonly detail: string;
  declare readonly code: ProblemCode | (string & {});
  declare readonly headers: Readonly<Record<string, string | number | readonly string[]>> | undefined;
  declare readonly extensions: Readonly<Record<string, unknown>> | undefined;
  declare readonly type: string;
  /** Tells handlers of other authors that `message` may be shown. */
  declare readonly expose: true;

  /**
   * @param status 400 to 599
   * @param detail default: `authentication required` for 401, the generic sentence for 500, else the phrase
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

// On the prototype: every own property is paid for by every error.
Object.defineProperties(ProblemError.prototype, {
  [PROBLEM]: { value: true },
  name: { value: "ProblemError", writable: true, configurable: true },
  expose: { value: true, writable: true, configurable: true },
});

/** Whether something is a problem, of this copy of the package or of another one. Never throws. */
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
