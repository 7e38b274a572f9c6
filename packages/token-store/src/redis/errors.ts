import { DeadlineError } from "@svc/resilience";

/** Returns the first word of an error reply of Redis, such as `NOSCRIPT`; undefined when Redis did not reply. */
export function replyWord(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { reply } = error as { readonly reply?: unknown };
  if (typeof reply === "string") return reply;
  return error.name === "ReplyError" ? /^[A-Z]+/.exec(error.message)?.[0] : undefined;
}

/** Returns whether Redis may have executed the command in spite of the error. */
export function isAmbiguous(error: unknown): boolean {
  if (!(error instanceof Error) || error.name === "ReplyError") return false;
  // Errors of @svc/cache say so themselves.
  const { ambiguous, reply } = error as { readonly ambiguous?: unknown; readonly reply?: unknown };
  if (typeof ambiguous === "boolean") return ambiguous;
  // ioredis reports a command that it never sent with this text.
  return typeof reply !== "string" && !error.message.startsWith("Stream isn't writeable");
}

/** Returns why a check failed. Leaves out the client's messages, because they may contain an address. */
export function failureDetail(error: unknown): string {
  if (error instanceof DeadlineError) return `not answering (no answer within ${error.ms} ms)`;
  const { code, reason } = (error ?? {}) as { readonly code?: unknown; readonly reason?: unknown };
  const word = [replyWord(error), reason, code].find(
    (each): each is string => typeof each === "string" && /^[A-Za-z][A-Za-z0-9_]{1,40}$/.test(each),
  );
  return word === undefined ? "not answering" : `not answering (${word})`;
}
