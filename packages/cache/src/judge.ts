import type { Outcome } from "@svc/resilience";
import { NotConnectedError } from "./connection.ts";
import { CacheCommandError, CacheUnavailableError, firstWord } from "./errors.ts";

/** The server is of no use to anybody. */
const DOWN: ReadonlySet<string> = new Set(["LOADING", "MASTERDOWN", "CLUSTERDOWN"]);
/** It cannot do this one thing; others, reading above all, still work, so it is called on. */
const UNABLE: ReadonlySet<string> = new Set([
  "OOM",
  "READONLY",
  "MISCONF",
  "NOREPLICAS",
  "TRYAGAIN",
  "BUSY",
  "NOAUTH",
  // Their text holds an address. They get here while nobody has taken over from a node of a cluster that is gone.
  "MOVED",
  "ASK",
]);
const RETRY_MS = 1000;

/** What an error of a command says about Redis, and what the caller may see of it: nothing that holds keys or values. */
export function judge(cause: unknown): { readonly outcome: Outcome; readonly error: Error } {
  if (cause instanceof NotConnectedError) return unavailable("cancelled", "disconnected");
  if (!(cause instanceof Error)) return unavailable("failed", "lost");
  if (cause.name === "ReplyError") return judgeReply(cause);
  if (cause.message === "Command timed out") return unavailable("failed", "timeout");
  // One dropped connection loses many commands at a time. It is not called again before it is back anyhow.
  if (/^Stream isn't writeable|slots cache|startup nodes/.test(cause.message)) {
    return unavailable("cancelled", "disconnected");
  }
  // A node of a cluster that stays away: each command would try several times before it gives up.
  if (cause.message.startsWith("Too many Cluster redirections")) return unavailable("failed", "lost");
  return unavailable("cancelled", "lost");
}

function judgeReply(cause: Error): { readonly outcome: Outcome; readonly error: Error } {
  const word = firstWord(cause.message);
  if (DOWN.has(word)) return unavailable("failed", "refused", word);
  if (UNABLE.has(word)) return unavailable("succeeded", "refused", word);
  const { command } = cause as Error & { readonly command?: { readonly name?: unknown } };
  const name = typeof command?.name === "string" ? command.name.toUpperCase() : "command";
  // Redis repeats the arguments of a command that it does not know.
  const text = cause.message.replace(/,? with args beginning with:.*$/s, "").slice(0, 200);
  return { outcome: "succeeded", error: new CacheCommandError(name, text) };
}

function unavailable(
  outcome: Outcome,
  reason: "disconnected" | "lost" | "timeout" | "refused",
  reply?: string,
): { readonly outcome: Outcome; readonly error: Error } {
  return { outcome, error: new CacheUnavailableError(reason, RETRY_MS, reply) };
}
