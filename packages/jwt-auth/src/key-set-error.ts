import { DeadlineError } from "@svc/resilience";

/** How a caller may retry after a failure. */
export interface Retry {
  /** Whether another attempt may succeed (KEY-7, KEY-8). Default: false. */
  readonly retryable?: boolean | undefined;
  /** Wait requested by the endpoint, in milliseconds. Default: none. */
  readonly retryAfterMs?: number | undefined;
}

/**
 * Thrown when the keys cannot be fetched. `reason` is safe to show: it contains no part of the URL, and no part of the
 * endpoint's response except the status.
 */
export class KeySetError extends Error {
  override readonly name = "KeySetError";
  readonly code = "ERR_SVC_KEY_SET";
  readonly reason: string;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(reason: string, { retryable = false, retryAfterMs }: Retry = {}) {
    super(`the key set could not be fetched: ${reason}`);
    this.reason = reason;
    this.retryable = retryable;
    this.retryAfterMs = retryAfterMs;
  }
}

// Error codes of sockets, DNS and TLS have this form. A `code` of another form may contain arbitrary text.
const CODE = /^[A-Z][A-Z0-9_]{2,40}$/;

/** Converts an error of a fetch or of a `jwks-rsa` client to one that is safe to show. */
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

/** Returns the code of an error or of its cause. */
function codeOf(error: unknown, depth: number): string | undefined {
  if (typeof error !== "object" || error === null || depth === 0) return undefined;
  const { code, cause, errors } = error as { code?: unknown; cause?: unknown; errors?: unknown };
  if (typeof code === "string" && CODE.test(code)) return code;
  return codeOf(cause, depth - 1) ?? (Array.isArray(errors) ? codeOf(errors[0], depth - 1) : undefined);
}
