import { TokenStoreError } from "./token-store-error.ts";

const LONGEST_SECONDS = 100 * 366 * 86_400;

/**
 * Returns the time to live of an entry in whole milliseconds, rounded up and at least 1,000. The minimum keeps an entry
 * for a token that expires at this moment.
 *
 * @throws TokenStoreError `ERR_SVC_TOKEN_STORE_ARGUMENT` when `seconds` is not a finite number or exceeds 100 years
 */
export function timeToLiveMs(name: string, seconds: number): number {
  return Math.max(1_000, checked(name, seconds));
}

/**
 * Returns the length of a grace window in whole milliseconds, rounded up; 0 for a negative number.
 *
 * @throws TokenStoreError `ERR_SVC_TOKEN_STORE_ARGUMENT` when `seconds` is not a finite number or exceeds 100 years
 */
export function windowMs(name: string, seconds: number): number {
  return Math.max(0, checked(name, seconds));
}

/** @throws TokenStoreError `ERR_SVC_TOKEN_STORE_ARGUMENT` when `seconds` is not a finite number */
export function checkMoment(name: string, seconds: number): void {
  if (!Number.isFinite(seconds)) throw refused(name, "seconds since the Unix epoch", seconds);
}

function checked(name: string, seconds: number): number {
  if (!Number.isFinite(seconds) || seconds > LONGEST_SECONDS) {
    throw refused(name, "a number of seconds, at most 100 years", seconds);
  }
  return Math.ceil(seconds * 1_000);
}

/** Makes the error for a malformed argument. Prints numbers but no strings, because a string may be confidential. */
export function refused(name: string, expected: string, value: unknown): TokenStoreError {
  const shown =
    typeof value === "number" || value === undefined || value === null ? String(value) : typeof value;
  return new TokenStoreError("ERR_SVC_TOKEN_STORE_ARGUMENT", `${name} must be ${expected}; it is ${shown}`);
}
