import { DeadlineError } from "@svc/resilience";

/** How a failure is to be treated by whoever tries again. */
export interface Retry {
  /** Whether another try may do better (KEY-7, KEY-8). Default: false. */
  readonly retryable?: boolean | undefined;
  /** What the endpoint asked to wait, in milliseconds. Default: nothing. */
  readonly retryAfterMs?: number | undefined;
}

/**
 * Keys could not be had. Its `reason` is safe to show: it holds nothing of the URL, and of what the endpoint
 * said the status alone.
 */
export class KeySetError extends Error {
  override readonly name = "KeySetError";
  readonly code = "ERR_SVC_KEY_SET";
  readonly reason: string;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(reason: string, { retryable = false, retryAfterMs }: Retry = {}) {
    super(`the key set could not be had: ${reason}`);
    this.reason = reason;
    this.retryable = retryable;
    this.retryAfterMs = retryAfterMs;
  }
}

// What a socket, the resolver or TLS calls its faults; anything else in that place may be text of any origin.
const CODE = /^[A-Z][A-Z0-9_]{2,40}$/;

/** Whatever a fetch or a client threw, as an error that is safe to show. */
export function keySetErrorOf(error: unknown): KeySetError {
  if (error instanceof KeySetError) return error;
  if (error instanceof DeadlineError) {
    return new KeySetError(`no complete answer within ${Number((error.ms / 1000).toFixed(2))} s`, {
      retryable: true,
    });
  }
  const code = codeOf(error, 3);
  return new KeySetError(code === undefined ? "network error" : `network error (${code})`, {
    retryable: true,
  });
}

/** The code of an error or of what caused it. */
function codeOf(error: unknown, depth: number): string | undefined {
  if (typeof error !== "object" || error === null || depth === 0) return undefined;
  const { code, cause, errors } = error as { code?: unknown; cause?: unknown; errors?: unknown };
  if (typeof code === "string" && CODE.test(code)) return code;
  return codeOf(cause, depth - 1) ?? (Array.isArray(errors) ? codeOf(errors[0], depth - 1) : undefined);
}
