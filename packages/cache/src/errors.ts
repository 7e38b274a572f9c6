/**
 * Why a command was not carried out, or is not known to have been. `timeout`, `lost`: Redis may have carried it out.
 * `refused`: Redis answers and cannot do it now (OOM, READONLY, LOADING and the like). `breaker`, `disconnected`, `busy`,
 * `stopped`: it was not sent.
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
 * Redis is of no use at the moment: what needs it is a 503, or goes on without it. It never holds an address, a key or a
 * value.
 */
export class CacheUnavailableError extends Error {
  override readonly name = "CacheUnavailableError";
  readonly code = "ERR_SVC_CACHE_UNAVAILABLE";
  readonly reason: UnavailableReason;
  /** Milliseconds until a new try makes sense. */
  readonly retryAfterMs: number;
  /** Whether Redis may have carried the command out all the same. */
  readonly ambiguous: boolean;
  /** The first word of the answer of Redis where it refused, for example `OOM`. */
  readonly reply: string | undefined;

  /**
   * @param reason why
   * @param retryAfterMs milliseconds until a new try makes sense
   * @param reply the first word of the answer of Redis
   */
  constructor(reason: UnavailableReason, retryAfterMs: number, reply?: string) {
    super(`Redis is not available: ${WORDS[reason]}${reply === undefined ? "" : ` (${reply})`}`);
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
    this.ambiguous = reason === "timeout" || reason === "lost";
    this.reply = reply;
  }
}

/** Redis answered that a command is wrong: a mistake of the program, or a script that Redis does not know (NOSCRIPT). */
export class CacheCommandError extends Error {
  override readonly name = "CacheCommandError";
  readonly code = "ERR_SVC_CACHE_COMMAND";
  /** The first word of the answer, for example `NOSCRIPT`. */
  readonly reply: string;

  /**
   * @param command name of the command
   * @param text the answer, or why it was not sent
   */
  constructor(command: string, text: string) {
    super(`${command}: ${text}`);
    this.reply = firstWord(text);
  }
}

/** A value that cannot be kept: it is no JSON, or longer than `maxValueBytes`. */
export class CacheValueError extends Error {
  override readonly name = "CacheValueError";
  readonly code = "ERR_SVC_CACHE_VALUE";
}

export function firstWord(text: string): string {
  return /^[A-Z]+/.exec(text)?.[0] ?? "ERR";
}

/** A word about a connection that failed; never its message, which holds the address. */
export function connectionWord(error: unknown): string {
  if (!(error instanceof Error)) return "connection error";
  // What a cluster says when all of its nodes have failed.
  const { lastNodeError } = error as Error & { readonly lastNodeError?: unknown };
  if (lastNodeError instanceof Error) return connectionWord(lastNodeError);
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code === "string" && /^[A-Z][A-Z0-9_]{2,50}$/.test(code)) return code;
  if (error.name !== "ReplyError") return "connection error";
  const word = firstWord(error.message);
  return word === "ERR" && isOfSelect(error) ? "no such database" : word;
}

/** Whether a server has refused to work with the database that it was asked for. */
export function isOfSelect(error: unknown): boolean {
  if (!(error instanceof Error) || error.name !== "ReplyError") return false;
  const { command } = error as Error & { readonly command?: { readonly name?: unknown } };
  return command?.name === "select";
}
