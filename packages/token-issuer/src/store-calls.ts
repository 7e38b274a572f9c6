import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { Logger, RevocableToken, Rotation, RotationResult, TokenStore } from "@svc/context";
import { atMostEvery, DeadlineError, errorFields, isThenable, withDeadline } from "@svc/resilience";
import { storeUnavailable } from "./refusals.ts";
import { say } from "./say.ts";

const WARNING_INTERVAL_MS = 10_000;
// Longer than a Redis client needs to reconnect.
const RETRY_PAUSE_MS = 300;
const LEAST_PAUSE_MS = 50;
// Longer than the cool-down of the store's circuit breaker.
const RETRY_BUDGET_MS = 3_000;

/** Returns the store's operations with a time limit; every failure becomes a 503 (ISS-17, REF-17). */
export function createStoreCalls(
  store: TokenStore,
  {
    timeoutMs,
    leewaySeconds,
    logger,
  }: { readonly timeoutMs: number; readonly leewaySeconds: number; readonly logger: Logger | undefined },
) {
  const warn = atMostEvery(WARNING_INTERVAL_MS, (suppressed, error: unknown) =>
    say(
      logger,
      "warn",
      { ...errorFields(error), suppressed },
      "the token store is not answering; refreshes and sign-outs get a 503",
    ),
  );

  // A store in memory returns its result without a promise and needs no timer.
  async function inTime<T>(call: () => T | Promise<T>): Promise<T> {
    const answer = call();
    return isThenable(answer) ? withDeadline(timeoutMs, () => answer) : answer;
  }

  function unavailable(error: unknown): Error {
    warn(error);
    return storeUnavailable(Math.max(1, Math.ceil(waitOf(error) / 1000)), error);
  }

  async function orUnavailable<T>(call: () => T | Promise<T>): Promise<T> {
    try {
      return await inTime(call);
    } catch (error) {
      throw unavailable(error);
    }
  }

  /**
   * Rotates a token. Retries if the response was lost, since the client would otherwise lose the session. The nonce
   * lets the store recognise the retry as the same request.
   */
  async function rotate(rotation: Omit<Rotation, "nonce">): Promise<RotationResult> {
    const call = { ...rotation, nonce: randomUUID() };
    let result: unknown;
    try {
      result = await inTime(() => store.rotate(call));
    } catch (error) {
      if (wasNotSent(error)) throw unavailable(error);
      result = await secondTry(call, error);
    }
    if (result === "rotated" || result === "raced" || result === "replayed") return result;
    throw new TypeError("rotate() of the token store must return rotated, raced or replayed");
  }

  async function secondTry(call: Rotation, first: unknown): Promise<RotationResult> {
    const until = performance.now() + RETRY_BUDGET_MS;
    let error = first;
    let waitMs = first instanceof DeadlineError ? 0 : RETRY_PAUSE_MS;
    while (performance.now() + waitMs < until) {
      if (waitMs > 0) await pause(waitMs);
      try {
        return await inTime(() => store.rotate(call));
      } catch (again) {
        error = again;
        if (!wasNotSent(again)) break;
        waitMs = Math.max(LEAST_PAUSE_MS, waitOf(again));
      }
    }
    throw unavailable(error);
  }

  async function isRevoked(token: RevocableToken): Promise<boolean> {
    const revoked: unknown = await orUnavailable(() => store.isRevoked(token));
    if (typeof revoked === "boolean") return revoked;
    throw new TypeError(`isRevoked() must return true or false; it returned ${typeof revoked}`);
  }

  /**
   * Returns the sign-in time in whole seconds of the store's clock, or undefined if the store has no clock (REV-10). While
   * the store is down, returns the time `leewaySeconds` ago, so that a later sign-out on any replica ends the session.
   */
  async function signInTime(sub: string, nowSeconds: number): Promise<number | undefined> {
    if (store.signInTime === undefined) return undefined;
    let moment: unknown;
    try {
      moment = await inTime(() => store.signInTime?.(sub, nowSeconds));
    } catch (error) {
      warn(error);
      return Math.max(0, nowSeconds - leewaySeconds);
    }
    return secondsOf("signInTime", moment);
  }

  /** Signs a person out everywhere as of now, by the clock that also dates sign-ins. Returns the new `notBefore`. */
  async function revokeSubjectNow(sub: string, nowSeconds: number, ttlSeconds: number): Promise<number> {
    if (store.revokeSubjectNow === undefined) {
      // The end of this second, so that sessions of the same second end too.
      const notBefore = nowSeconds + 1;
      await orUnavailable(() => store.revokeSubject(sub, notBefore, ttlSeconds));
      return notBefore;
    }
    const moment = await orUnavailable(() => store.revokeSubjectNow?.(sub, nowSeconds, ttlSeconds));
    return secondsOf("revokeSubjectNow", moment);
  }

  return {
    isRevoked,
    rotate,
    signInTime,
    revokeSubjectNow,
    change: (call: (store: TokenStore) => void | Promise<void>) => orUnavailable(() => call(store)),
  };
}

/** @throws TypeError when the store returns anything but whole seconds since the Unix epoch */
function secondsOf(operation: string, moment: unknown): number {
  if (Number.isSafeInteger(moment) && Number(moment) >= 0) return Number(moment);
  throw new TypeError(`${operation}() of the token store must return whole seconds since the Unix epoch`);
}

/** Returns whether the call had no effect: the circuit breaker was open, or the store's error reports it. */
function wasNotSent(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, ambiguous } = error as { readonly code?: unknown; readonly ambiguous?: unknown };
  return code === "ERR_SVC_BREAKER_OPEN" || ambiguous === false;
}

function waitOf(error: unknown): number {
  const wait = error instanceof Error ? (error as { readonly retryAfterMs?: unknown }).retryAfterMs : 0;
  return typeof wait === "number" && wait > 0 ? wait : 0;
}
