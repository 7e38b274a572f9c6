import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { RevocableToken, Rotation, TokenStore } from "../token-store.ts";

/** What the suite needs to know of a store. */
export interface TokenStoreSuite {
  /**
   * Makes a store, or hands out one that is there. Every case draws its own ids, so stores may share their data; a
   * second store that the same case asks for must.
   */
  readonly create: () => TokenStore | Promise<TokenStore>;
  /**
   * Makes another replica on the data of `create`, with its own connections. Default: the same store again, for a
   * store that lives in one process.
   */
  readonly createReplica?: ((store: TokenStore) => TokenStore | Promise<TokenStore>) | undefined;
  /**
   * Moves the clock of the store on. Default: none; what depends on time is then tested with short real waits, and the
   * cases for exact edges are left out.
   */
  readonly advance?: ((ms: number) => void | Promise<void>) | undefined;
  /** Ends a store after its case. Default: its `stop()` is called, if it has one. */
  readonly release?: ((store: TokenStore) => void | Promise<void>) | undefined;
}

export const MONTH: number = 30 * 86_400;

/** A random id as issuers write them. */
export function id(): string {
  return randomBytes(16).toString("hex");
}

/** The first presentation of a token of a new session, with `changes`. */
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

/** The same token in another request. */
export function again(rotation: Rotation, changes: Partial<Rotation> = {}): Rotation {
  return { ...rotation, nonce: id(), ...changes };
}

/** The token that a rotation gives out, or the access token beside it: another id, the same session. */
export function successor(rotation: Rotation): Rotation {
  return again(rotation, { jti: id() });
}

/** What a request check asks of a token. */
export function revocable({ jti, fam, sub, signedInAt }: Rotation): RevocableToken {
  return { jti, fam, sub, signedInAt };
}

const PATIENCE_MS = 15_000;

/** Waits until `settled` holds; however slow the machine is, only a store that never gets there fails. */
export async function until(what: string, settled: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (!(await settled())) {
    if (performance.now() > end) throw new Error(`${what}: not within ${PATIENCE_MS} ms`);
    await sleep(20);
  }
}
