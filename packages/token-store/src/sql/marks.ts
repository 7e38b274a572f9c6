import { createHash } from "node:crypto";
import { checkMoment, timeToLiveMs, windowMs } from "../durations.ts";

/** What a row is about. */
export type Subject = "jti" | "fam" | "sub";

// Nothing in it means anything inside of quotes, whatever `standard_conforming_strings` says.
const PLAIN = /^[A-Za-z0-9_.:@/+=|~-]{1,200}$/;

/**
 * The key of a row, as a constant in SQL. An id that is long or has unusual characters is kept as its digest: an index takes
 * 2,704 bytes at most and a text no NUL, and a token that is refused must not be let pass because of its name.
 */
export function keyOf(subject: Subject, id: string): string {
  return PLAIN.test(id) ? `'${subject}:${id}'` : `'${subject}#${digest(id)}'`;
}

/** A nonce as a constant in SQL; it is only ever compared. */
export function nonceOf(nonce: string): string {
  return PLAIN.test(nonce) ? `'=${nonce}'` : `'#${digest(nonce)}'`;
}

/**
 * How long to remember something, as SQL.
 *
 * @throws TokenStoreError
 */
export function timeToLive(name: string, seconds: number): string {
  return `interval '${timeToLiveMs(name, seconds)} milliseconds'`;
}

/**
 * A window as SQL.
 *
 * @throws TokenStoreError
 */
export function window(name: string, seconds: number): string {
  return `interval '${windowMs(name, seconds)} milliseconds'`;
}

/**
 * A moment as SQL, from seconds since the Unix epoch.
 *
 * @throws TokenStoreError
 */
export function moment(name: string, seconds: number): string {
  checkMoment(name, seconds);
  return instant(seconds * 1_000);
}

/** When a session began, as SQL, from seconds since the Unix epoch; what is no number began before everything. */
export function began(seconds: number): string {
  return typeof seconds !== "number" || Number.isNaN(seconds)
    ? "'-infinity'::timestamptz"
    : instant(seconds * 1_000);
}

/** A moment as SQL, from milliseconds since the Unix epoch. */
export function instant(ms: number): string {
  // The dates of tokens end at 8.64e12 seconds; what is further away is as good as that.
  return `to_timestamp('${Math.max(-1e11, Math.min(ms / 1_000, 8.64e12))}'::float8)`;
}

function digest(id: string): string {
  // UTF-8 would write every half of a surrogate pair as the same character.
  return createHash("sha256").update(Buffer.from(id, "utf16le")).digest("base64url");
}
