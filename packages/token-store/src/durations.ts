import { TokenStoreError } from "./token-store-error.ts";

const LONGEST_SECONDS = 100 * 366 * 86_400;

/**
 * How long to remember something, in whole milliseconds: rounded up, and at least a second, so that a token which
 * expires at this moment is remembered rather than refused by the store.
 *
 * @throws TokenStoreError `ERR_SVC_TOKEN_STORE_ARGUMENT` when it is no number or more than 100 years
 */
export function timeToLiveMs(name: string, seconds: number): number {
  return Math.max(1_000, checked(name, seconds));
}

/**
 * A window in whole milliseconds; none when it is not above zero.
 *
 * @throws TokenStoreError `ERR_SVC_TOKEN_STORE_ARGUMENT` when it is no number or more than 100 years
 */
export function windowMs(name: string, seconds: number): number {
  return Math.max(0, checked(name, seconds));
}

/** @throws TokenStoreError `ERR_SVC_TOKEN_STORE_ARGUMENT` when it is no finite number */
export function checkMoment(name: string, seconds: number): void {
  if (!Number.isFinite(seconds)) throw refused(name, "seconds since the Unix epoch", seconds);
}

function checked(name: string, seconds: number): number {
  if (!Number.isFinite(seconds) || seconds > LONGEST_SECONDS) {
    throw refused(name, "a number of seconds, at most 100 years", seconds);
  }
  return Math.ceil(seconds * 1_000);
}

/** The error for an argument that is none. Shows numbers and no text, which may be anybody's. */
export function refused(name: string, expected: string, value: unknown): TokenStoreError {
  const shown =
    typeof value === "number" || value === undefined || value === null ? String(value) : typeof value;
  return new TokenStoreError("ERR_SVC_TOKEN_STORE_ARGUMENT", `${name} must be ${expected}; it is ${shown}`);
}
