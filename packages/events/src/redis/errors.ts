import { type EventBusError, refused, unavailable } from "../bus/event-bus-error.ts";

export const BROKER = "Redis";

// Errors that pass by themselves or after a repair of the server, so a retry makes sense.
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

/** Returns the error word of a Redis reply; undefined when Redis did not answer. */
export function replyWord(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== "ReplyError") return undefined;
  const text = error.message;
  // Redis 6 wraps an error inside a script.
  const inner = /@user_script:\s*\d+: -?([A-Z]{2,})\b/.exec(text)?.[1];
  return inner ?? /^[A-Z]+/.exec(text)?.[0] ?? "ERR";
}

/** Returns a word for a failed connection; never the error's message, which contains the address. */
export function connectionWord(error: unknown): string {
  if (!(error instanceof Error)) return "connection error";
  const word = replyWord(error);
  if (word !== undefined) return isOfSelect(error) ? "no such database" : word;
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === "string" && /^[A-Z][A-Z0-9_]{2,50}$/.test(code) ? code : "connection error";
}

/** Whether the server rejected the selected database. */
export function isOfSelect(error: unknown): boolean {
  if (!(error instanceof Error) || error.name !== "ReplyError") return false;
  const { command } = error as Error & { readonly command?: { readonly name?: unknown } };
  return command?.name === "select";
}

/** Converts an error for the caller; omits the client's text, which contains commands with their arguments. */
export function explained(error: unknown): EventBusError {
  const word = replyWord(error);
  if (word === undefined) return unavailable(BROKER, `the connection was lost (${connectionWord(error)})`);
  if (PASSING.has(word)) return unavailable(BROKER, `it cannot do this now (${word})`);
  return refusal(word);
}

function refusal(word: string): EventBusError {
  const hint = HINTS[word];
  return refused(BROKER, hint === undefined ? word : `${hint} (${word})`);
}

/** Returns the error for a call without a connection, with a word about the last failed attempt. */
export function notConnected(word: string | undefined): EventBusError {
  if (word === "WRONGPASS" || word === "NOAUTH") return refusal(word);
  return unavailable(BROKER, word ?? "no connection");
}
