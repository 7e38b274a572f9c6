import { connectionWord, NotConnectedError, replyWord } from "@svc/redis";
import { closedBus, type EventBusError, refused, unavailable } from "../bus/event-bus-error.ts";

export const BROKER = "Redis";

// Errors that disappear by themselves or once the server is repaired, so a retry makes sense.
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
  WRONGTYPE: "the key of a stream holds a value of another type",
  NOAUTH: "it requires a password",
  WRONGPASS: "the user name or the password is wrong",
  NOPERM: "the user has no permission",
  ERR: "a command failed; Redis 7.0 or newer is needed",
  NOGROUP: "the consumer group does not exist any more",
};

/** Converts an error for the caller, without the client's message, which contains commands with their arguments. */
export function explained(error: unknown): EventBusError {
  if (error instanceof NotConnectedError) return notConnected(error.failure);
  const word = replyWord(error);
  if (word === undefined) return unavailable(BROKER, `the connection was lost (${connectionWord(error)})`);
  if (PASSING.has(word)) return unavailable(BROKER, `it cannot execute the command at the moment (${word})`);
  return refusal(word);
}

function refusal(word: string): EventBusError {
  const hint = HINTS[word];
  return refused(BROKER, hint === undefined ? word : `${hint} (${word})`);
}

/** @param word why the last connection attempt failed */
function notConnected(word: string | undefined): EventBusError {
  if (word === "closed") return closedBus(BROKER);
  if (word === "WRONGPASS" || word === "NOAUTH") return refusal(word);
  return unavailable(BROKER, word ?? "no connection");
}
