import { DeadlineError } from "@svc/resilience";

/** The first word of what Redis answered instead of a result, for example `NOSCRIPT`; undefined when it did not answer. */
export function replyWord(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { reply } = error as { readonly reply?: unknown };
  if (typeof reply === "string") return reply;
  return error.name === "ReplyError" ? /^[A-Z]+/.exec(error.message)?.[0] : undefined;
}

/** Whether Redis may have carried out a command that failed so. */
export function isAmbiguous(error: unknown): boolean {
  if (!(error instanceof Error) || error.name === "ReplyError") return false;
  // @svc/cache knows.
  const { ambiguous, reply } = error as { readonly ambiguous?: unknown; readonly reply?: unknown };
  if (typeof ambiguous === "boolean") return ambiguous;
  // The text of ioredis for a command that it did not even try to send.
  return typeof reply !== "string" && !error.message.startsWith("Stream isn't writeable");
}

/** Why a check failed, without any text of the client: that may hold an address. */
export function failureDetail(error: unknown): string {
  if (error instanceof DeadlineError) return `not answering (no answer within ${error.ms} ms)`;
  const { code, reason } = (error ?? {}) as { readonly code?: unknown; readonly reason?: unknown };
  const word = [replyWord(error), reason, code].find(
    (each): each is string => typeof each === "string" && /^[A-Za-z][A-Za-z0-9_]{1,40}$/.test(each),
  );
  return word === undefined ? "not answering" : `not answering (${word})`;
}
