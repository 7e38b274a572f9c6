import { TokenStoreError } from "./token-store-error.ts";
import type { Rotation } from "@svc/context";

// Every function here throws a TokenStoreError `ERR_SVC_TOKEN_STORE_ARGUMENT` for a malformed argument.

const LONGEST_SECONDS = 100 * 366 * 86_400;

/** Rejects an id that is not a string. Otherwise all tokens without a session id would share one session. */
export function checkId(name: string, id: string): void {
  if (typeof id !== "string") throw refused(name, "a string", id);
}

/** Rejects a time, in seconds since the Unix epoch, that is not a finite number. */
export function checkMoment(name: string, seconds: number): void {
  if (!Number.isFinite(seconds)) throw refused(name, "seconds since the Unix epoch", seconds);
}

/**
 * Returns the time to live of an entry in whole milliseconds, rounded up and at least 1,000. The minimum keeps an entry for
 * a token that expires right now. Rejects a number that is not finite or exceeds 100 years.
 */
export function timeToLiveMs(seconds: number, name = "ttlSeconds"): number {
  return Math.max(1_000, milliseconds(seconds, name));
}

/** The durations of a rotation in whole milliseconds. */
export interface RotationTimes {
  /** 0 if `graceSeconds` is negative. */
  readonly graceMs: number;
  readonly usedTtlMs: number;
  readonly familyTtlMs: number;
}

/**
 * Checks the arguments of `rotate()` and returns their durations. Rejects an empty nonce, because all requests with
 * it would count as the same request.
 */
export function checkRotation(rotation: Rotation): RotationTimes {
  const { nonce, signedInAt, graceSeconds, usedTtlSeconds, familyTtlSeconds } = rotation;
  for (const name of ["jti", "fam", "sub"] as const) checkId(name, rotation[name]);
  if (typeof nonce !== "string" || nonce === "") throw refused("nonce", "a non-empty string", nonce);
  checkMoment("signedInAt", signedInAt);
  return {
    graceMs: Math.max(0, milliseconds(graceSeconds, "graceSeconds")),
    usedTtlMs: timeToLiveMs(usedTtlSeconds, "usedTtlSeconds"),
    familyTtlMs: timeToLiveMs(familyTtlSeconds, "familyTtlSeconds"),
  };
}

function milliseconds(seconds: number, name: string): number {
  if (!Number.isFinite(seconds) || seconds > LONGEST_SECONDS) {
    throw refused(name, "a number of seconds, at most 100 years", seconds);
  }
  return Math.ceil(seconds * 1_000);
}

/**
 * Returns the error for a malformed argument. The message contains numbers but no strings, because a string may be
 * confidential.
 */
function refused(name: string, expected: string, value: unknown): TokenStoreError {
  const shown =
    typeof value === "number" || value === undefined || value === null ? String(value) : typeof value;
  return new TokenStoreError("ERR_SVC_TOKEN_STORE_ARGUMENT", `${name} must be ${expected}; it is ${shown}`);
}
