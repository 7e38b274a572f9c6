/**
 * Why a command failed. `timeout`, `lost`: Redis may have executed it. `refused`: Redis rejected it for now (OOM, READONLY,
 * LOADING and the like). `breaker`, `disconnected`, `busy`, `stopped`: it was not sent.
 */
export type UnavailableReason =
  "timeout" | "lost" | "refused" | "breaker" | "disconnected" | "busy" | "stopped";

const WORDS: Readonly<Record<UnavailableReason, string>> = {
  timeout: "it did not answer in time",
  lost: "the connection was lost",
  refused: "it cannot do this now",
  breaker: "not called, because it kept failing",
  disconnected: "there is no connection",
  busy: "too many commands are waiting",
  stopped: "the cache was stopped",
};

/**
 * Thrown while Redis is unavailable: answer 503, or go on without the cache. The error never contains an address, a key or
 * a value.
 */
export class CacheUnavailableError extends Error {
  override readonly name = "CacheUnavailableError";
  readonly code = "ERR_SVC_CACHE_UNAVAILABLE";
  readonly reason: UnavailableReason;
  /** Milliseconds until a retry makes sense. */
  readonly retryAfterMs: number;
  /** Whether Redis may have executed the command in spite of the error. */
  readonly ambiguous: boolean;
  /** The first word of Redis's error reply, for example `OOM`. */
  readonly reply: string | undefined;

  /**
   * @param reason why
   * @param retryAfterMs milliseconds until a retry makes sense
   * @param reply the first word of Redis's error reply
   */
  constructor(reason: UnavailableReason, retryAfterMs: number, reply?: string) {
    super(`Redis is not available: ${WORDS[reason]}${reply === undefined ? "" : ` (${reply})`}`);
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
    this.ambiguous = reason === "timeout" || reason === "lost";
    this.reply = reply;
  }
}

/** Thrown when Redis rejects a command as wrong: a fault of the program, or a script that Redis does not know (NOSCRIPT). */
export class CacheCommandError extends Error {
  override readonly name = "CacheCommandError";
  readonly code = "ERR_SVC_CACHE_COMMAND";
  /** The first word of the error reply, for example `NOSCRIPT`. */
  readonly reply: string;

  /**
   * @param command name of the command
   * @param text the error reply, or why the command was not sent
   */
  constructor(command: string, text: string) {
    super(`${command}: ${text}`);
    this.reply = firstWord(text);
  }
}

/** Thrown for a value that cannot be stored, because it is not JSON or longer than `maxValueBytes`. */
export class CacheValueError extends Error {
  override readonly name = "CacheValueError";
  readonly code = "ERR_SVC_CACHE_VALUE";
}

export function firstWord(text: string): string {
  return /^[A-Z]+/.exec(text)?.[0] ?? "ERR";
}

/** Returns a keyword for a failed connection. Leaves out the message, which contains the address. */
export function connectionWord(error: unknown): string {
  if (!(error instanceof Error)) return "connection error";
  // A cluster wraps the error of its last node when all nodes have failed.
  const { lastNodeError } = error as Error & { readonly lastNodeError?: unknown };
  if (lastNodeError instanceof Error) return connectionWord(lastNodeError);
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code === "string" && /^[A-Z][A-Z0-9_]{2,50}$/.test(code)) return code;
  if (error.name !== "ReplyError") return "connection error";
  const word = firstWord(error.message);
  return word === "ERR" && isOfSelect(error) ? "no such database" : word;
}

/** Returns whether a server rejected SELECT. */
export function isOfSelect(error: unknown): boolean {
  if (!(error instanceof Error) || error.name !== "ReplyError") return false;
  const { command } = error as Error & { readonly command?: { readonly name?: unknown } };
  return command?.name === "select";
}
