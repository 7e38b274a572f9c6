import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { RevocableToken, Rotation, TokenStore } from "@svc/context";

/** The functions with which the suite creates and releases the stores that it tests. */
export interface TokenStoreSuite {
  /**
   * Creates a store, or returns an existing one. Stores may share their data, because every case uses its own random
   * ids. A second store within one case must share the data of the first.
   */
  readonly create: () => TokenStore | Promise<TokenStore>;
  /**
   * Creates a replica that shares the data of the given store, with its own connections. Default: the same store, for a
   * store that lives in one process.
   */
  readonly createReplica?: ((store: TokenStore) => TokenStore | Promise<TokenStore>) | undefined;
  /**
   * Advances the clock of the store by milliseconds. Default: none; cases then wait for short real times, and cases that
   * need an exact time are omitted.
   */
  readonly advance?: ((ms: number) => void | Promise<void>) | undefined;
  /** Stops a store after its case. Default: calls its `stop()`, if it has one. */
  readonly release?: ((store: TokenStore) => void | Promise<void>) | undefined;
}

/** The arguments of a case. */
export interface Bench {
  readonly store: TokenStore;
  readonly replica: TokenStore;
  /** Advances the clock of the store by milliseconds; undefined when the store has only the real clock. */
  readonly advance: ((ms: number) => void | Promise<void>) | undefined;
}

/** A case that is not bound to a store yet. */
export interface Draft {
  readonly name: string;
  /** Whether to omit the case when the suite has no `advance`. */
  readonly needsClock?: boolean;
  readonly test: (bench: Bench) => Promise<void>;
}

export const MONTH: number = 30 * 86_400;

/** Returns a random id of the length that issuers use. */
export function id(): string {
  return randomBytes(16).toString("hex");
}

/** Returns a request to rotate a new token in a new session, with `changes` applied. */
export function presented(changes: Partial<Rotation> = {}): Rotation {
  return {
    jti: id(),
    fam: id(),
    sub: id(),
    signedInAt: 1_700_000_000,
    graceSeconds: 10,
    usedTtlSeconds: MONTH,
    familyTtlSeconds: MONTH,
    nonce: id(),
    ...changes,
  };
}

/** Returns another request with the same token. */
export function again(rotation: Rotation, changes: Partial<Rotation> = {}): Rotation {
  return { ...rotation, nonce: id(), ...changes };
}

/** Returns a request with another token of the same session, such as the token that a rotation issues. */
export function successor(rotation: Rotation): Rotation {
  return again(rotation, { jti: id() });
}

/** Returns the argument of `isRevoked()` for the token. */
export function revocable({ jti, fam, sub, signedInAt }: Rotation): RevocableToken {
  return { jti, fam, sub, signedInAt };
}

const PATIENCE_MS = 15_000;

/** Waits until `settled` returns true; rejects after 15 s, so that a slow machine alone does not fail a case. */
export async function until(what: string, settled: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (!(await settled())) {
    if (performance.now() > end) throw new Error(`after ${PATIENCE_MS} ms, ${what}`);
    await sleep(20);
  }
}
