import { createHash } from "node:crypto";

/** What a row marks: a token, a family or a subject. */
type Subject = "jti" | "fam" | "sub";

// These characters need no escaping in a quoted constant, with `standard_conforming_strings` on or off.
const PLAIN = /^[A-Za-z0-9_.:@/+=|~-]{1,200}$/;

/**
 * Returns the key of a row as an SQL literal. A long or unusual id is replaced by its digest, because an index entry holds
 * at most 2,704 bytes and a `text` value cannot contain NUL. An id that cannot be stored could not be revoked.
 */
export function keyOf(subject: Subject, id: string): string {
  return PLAIN.test(id) ? `'${subject}:${id}'` : `'${subject}#${digest(id)}'`;
}

/** Returns a nonce as an SQL literal, or its digest if it is long or unusual, since nonces are only compared. */
export function nonceOf(nonce: string): string {
  return PLAIN.test(nonce) ? `'=${nonce}'` : `'#${digest(nonce)}'`;
}

/** Returns a duration in whole milliseconds as an SQL interval. */
export function interval(ms: number): string {
  return `interval '${ms} milliseconds'`;
}

/**
 * Returns the start of a session as an SQL expression, from seconds since the Unix epoch. NaN counts as the earliest
 * sign-in.
 */
export function began(seconds: number): string {
  return typeof seconds !== "number" || Number.isNaN(seconds)
    ? "'-infinity'::timestamptz"
    : instant(seconds * 1_000);
}

/** Returns a time as an SQL expression, from milliseconds since the Unix epoch. */
export function instant(ms: number): string {
  // Limit the time to 8.64e12 seconds, the latest date in a token.
  return `to_timestamp('${Math.max(-1e11, Math.min(ms / 1_000, 8.64e12))}'::float8)`;
}

function digest(id: string): string {
  // Hash UTF-16, because UTF-8 would encode all unpaired surrogates as the same character.
  return createHash("sha256").update(Buffer.from(id, "utf16le")).digest("base64url");
}
