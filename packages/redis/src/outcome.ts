import type { Outcome } from "@svc/resilience";
import { firstWord, NotConnectedError } from "./errors.ts";
import type { RedisOwner } from "./options.ts";

/** A classified client error: its effect on the breaker, and the error for the caller, without keys or values. */
export interface Verdict {
  readonly outcome: Outcome;
  readonly error: Error;
}

/** Replies of a server that is unusable. */
const DOWN: ReadonlySet<string> = new Set(["LOADING", "MASTERDOWN", "CLUSTERDOWN"]);
/**
 * Replies of a server that cannot execute this command but can execute others, such as reads. They do not open the breaker.
 */
const UNABLE: ReadonlySet<string> = new Set([
  "OOM",
  "READONLY",
  "MISCONF",
  "NOREPLICAS",
  "TRYAGAIN",
  "BUSY",
  "NOAUTH",
  // ioredis passes these replies on until another node has replaced a lost node. Their text contains an address.
  "MOVED",
  "ASK",
]);
const RETRY_MS = 1000;
// These commands return text that a script composed, perhaps from keys.
const RUNS_SCRIPT = /^(?:EVAL|FCALL)/;
// A reply repeats an argument in quotes, as a number, or after one of these words. The ' of `can't` is no quote.
const QUOTED = / ?(?:(?<!n)'|["`:(\d]).*$/s;
const UNQUOTED = /\b((?:unknown|unsupported) [a-z]+|about node|function|library) \S.*$/is;
const SCRIPT_LINE = /user_(?:script|function):\s*\d+/;

/** Returns the function that classifies the client's errors. */
export function judgeFor({ UnavailableError, CommandError }: RedisOwner): (cause: unknown) => Verdict {
  function unavailable(
    outcome: Outcome,
    reason: "disconnected" | "lost" | "timeout" | "refused",
    reply?: string,
  ): Verdict {
    return { outcome, error: new UnavailableError(reason, RETRY_MS, reply) };
  }

  function judgeReply(cause: Error): Verdict {
    const word = firstWord(cause.message);
    if (DOWN.has(word)) return unavailable("failed", "refused", word);
    if (UNABLE.has(word)) return unavailable("succeeded", "refused", word);
    const { command } = cause as Error & { readonly command?: { readonly name?: unknown } };
    const name = typeof command?.name === "string" ? command.name.toUpperCase() : undefined;
    const text = explanation(cause.message, word, name);
    return { outcome: "succeeded", error: new CommandError(name ?? "command", text) };
  }

  return function judge(cause) {
    if (cause instanceof NotConnectedError) return unavailable("cancelled", "disconnected");
    if (!(cause instanceof Error)) return unavailable("failed", "lost");
    if (cause.name === "ReplyError") return judgeReply(cause);
    if (cause.message === "Command timed out") return unavailable("failed", "timeout");
    // One lost connection fails many commands at the same time. These failures do not count, because no command is sent
    // before the connection is restored.
    if (/^Stream isn't writeable|slots cache|startup nodes/.test(cause.message)) {
      return unavailable("cancelled", "disconnected");
    }
    // A lost cluster node counts as a failure, because each command would be redirected several times first.
    if (cause.message.startsWith("Too many Cluster redirections")) return unavailable("failed", "lost");
    return unavailable("cancelled", "lost");
  };
}

/**
 * Returns the part of an error reply that cannot contain a key, an argument or a user, with `...` in place of the rest. Keeps
 * only the first word, and the line of a script, if a script or a module may have composed the reply.
 */
function explanation(reply: string, word: string, command: string | undefined): string {
  // `NOPERM` is followed by the name of the user.
  if (reply === word) return word;
  const isRedisText = command !== undefined && !RUNS_SCRIPT.test(command) && word !== "NOPERM";
  const isPlain = isRedisText && reply.startsWith(`${word} `);
  const shown = isPlain ? reply.replace(QUOTED, " ...").replace(UNQUOTED, "$1 ...") : `${word} ...`;
  const line = SCRIPT_LINE.exec(reply)?.[0];
  return line === undefined ? shown : `${shown} (${line})`;
}
