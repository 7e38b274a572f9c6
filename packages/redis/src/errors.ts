/**
 * Why a command failed. `timeout`, `lost`: Redis may have executed it. `refused`: Redis rejected it temporarily (OOM,
 * READONLY, LOADING and similar). `breaker`, `disconnected`, `busy`, `stopped`: it was not sent.
 */
export type UnavailableReason =
  "timeout" | "lost" | "refused" | "breaker" | "disconnected" | "busy" | "stopped";

const WORDS: Readonly<Record<Exclude<UnavailableReason, "stopped">, string>> = {
  timeout: "it did not answer in time",
  lost: "the connection was lost",
  refused: "it cannot execute the command at the moment",
  breaker: "the circuit breaker is open after recent failures",
  disconnected: "there is no connection",
  busy: "too many commands are waiting",
};

/** Thrown while Redis is unavailable. The error never contains an address, a key or a value. */
export class RedisUnavailableError extends Error {
  override readonly name: string = "RedisUnavailableError";
  readonly code: string = "ERR_SVC_REDIS_UNAVAILABLE";
  readonly reason: UnavailableReason;
  /** Milliseconds until a retry makes sense. */
  readonly retryAfterMs: number;
  /** Whether Redis may have executed the command despite the error. */
  readonly ambiguous: boolean;
  /** The first word of Redis's error reply, for example `OOM`. */
  readonly reply: string | undefined;

  /**
   * @param reason why the command failed
   * @param retryAfterMs milliseconds until a retry makes sense
   * @param reply the first word of Redis's error reply
   * @param owner the stopped component, named in the message for the reason `stopped`
   */
  constructor(reason: UnavailableReason, retryAfterMs: number, reply?: string, owner = "the connection") {
    const words = reason === "stopped" ? `${owner} was stopped` : WORDS[reason];
    super(`Redis is not available: ${words}${reply === undefined ? "" : ` (${reply})`}`);
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
    this.ambiguous = reason === "timeout" || reason === "lost";
    this.reply = reply;
  }
}

/**
 * Thrown when Redis rejects a command as invalid: a fault in the program, or a script that Redis does not know (NOSCRIPT).
 */
export class RedisCommandError extends Error {
  override readonly name: string = "RedisCommandError";
  readonly code: string = "ERR_SVC_REDIS_COMMAND";
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

/** Thrown while there is no connection to Redis. */
export class NotConnectedError extends Error {
  override readonly name = "NotConnectedError";
  readonly code = "ERR_SVC_REDIS_NOT_CONNECTED";
  /** A keyword for the last failure, such as `ECONNREFUSED`; undefined if there was none. */
  readonly failure: string | undefined;

  /** @param failure a keyword for the last failure */
  constructor(failure?: string) {
    super(`there is no connection to Redis${failure === undefined ? "" : ` (${failure})`}`);
    this.failure = failure;
  }
}

/** Returns the first word of an error reply; `ERR` if it has none. */
export function firstWord(text: string): string {
  return /^[A-Z]+\b/.exec(text)?.[0] ?? "ERR";
}

/** Returns a keyword for a failed connection. Omits the message, which contains the address. */
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
