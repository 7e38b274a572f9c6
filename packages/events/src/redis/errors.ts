import { DeadlineError } from "@svc/resilience";
import { EventBusError, refused, unavailable } from "../bus/event-bus-error.ts";

export const BROKER = "Redis";

// What passes by itself, or when somebody repairs the server: the same command is worth another try then.
const PASSING = new Set([
  "LOADING",
  "READONLY",
  "MASTERDOWN",
  "BUSY",
  "OOM",
  "TRYAGAIN",
  "CLUSTERDOWN",
  "NOREPLICAS",
  "MISCONF",
]);

const HINTS: Readonly<Record<string, string>> = {
  WRONGTYPE: "a key that should be a stream holds something else",
  NOAUTH: "it wants a password",
  WRONGPASS: "the user or the password is wrong",
  NOPERM: "the user may not do this",
  ERR: "a command failed; Redis 6.2 or newer is needed",
  NOGROUP: "the consumer group is gone",
};

/** The first word of what Redis answered instead of a result; undefined when it did not answer. */
export function replyWord(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== "ReplyError") return undefined;
  const text = error.message;
  // Redis 6 wraps what went wrong in a script.
  const inner = /@user_script:\s*\d+: -?([A-Z]{2,})\b/.exec(text)?.[1];
  return inner ?? /^[A-Z]+/.exec(text)?.[0] ?? "ERR";
}

/** A word about a connection that failed; never its message, which holds the address. */
export function connectionWord(error: unknown): string {
  if (!(error instanceof Error)) return "connection error";
  const word = replyWord(error);
  if (word !== undefined) return isOfSelect(error) ? "no such database" : word;
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === "string" && /^[A-Z][A-Z0-9_]{2,50}$/.test(code) ? code : "connection error";
}

/** Whether a server has refused to work with the database that it was asked for. */
export function isOfSelect(error: unknown): boolean {
  if (!(error instanceof Error) || error.name !== "ReplyError") return false;
  const { command } = error as Error & { readonly command?: { readonly name?: unknown } };
  return command?.name === "select";
}

/** What the caller is told: no text of the client, whose errors hold commands with all their arguments. */
export function explained(error: unknown): EventBusError {
  if (error instanceof EventBusError) return error;
  if (error instanceof DeadlineError)
    return unavailable(BROKER, `no answer within ${Math.round(error.ms)} ms`);
  const word = replyWord(error);
  if (word === undefined) return unavailable(BROKER, `the connection was lost (${connectionWord(error)})`);
  if (PASSING.has(word)) return unavailable(BROKER, `it cannot do this now (${word})`);
  return refusal(word);
}

function refusal(word: string): EventBusError {
  const hint = HINTS[word];
  return refused(BROKER, hint === undefined ? word : `${hint} (${word})`);
}

/** What the caller is told while there is no connection, by the word about the last one that failed. */
export function notConnected(word: string | undefined): EventBusError {
  if (word === "WRONGPASS" || word === "NOAUTH") return refusal(word);
  return unavailable(BROKER, word ?? "no connection");
}
