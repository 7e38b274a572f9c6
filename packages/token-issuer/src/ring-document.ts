import type { Algorithm } from "@svc/jwt-auth";
import type { KeyObject } from "node:crypto";
import type { KeyState, Lifetimes } from "./key-ring.ts";

/** A key of a ring, with its dates in milliseconds since the Unix epoch. */
export interface RingKey {
  /** The thumbprint of the key (RFC 7638, SHA-256). */
  readonly kid: string;
  readonly algorithm: Algorithm;
  readonly state: KeyState;
  readonly publishedAt: number;
  readonly promotedAt?: number | undefined;
  readonly replacedAt?: number | undefined;
  readonly retiredAt?: number | undefined;
  /** The private key, present only in a key that signs or will sign, or the secret. Absent when retired. */
  readonly signing?: KeyObject | undefined;
  /** The public key or the secret. Absent when retired. */
  readonly verifying?: KeyObject | undefined;
}

/** A ring in its stored form. */
export interface RingDocument {
  readonly lifetimes: Lifetimes;
  readonly keys: readonly RingKey[];
}

/** The lifetimes of the contract: 15 minutes, 30 days, 30 seconds (ISS-4). */
export const contractLifetimes: Lifetimes = Object.freeze({
  accessSeconds: 900,
  refreshSeconds: 30 * 86_400,
  leewaySeconds: 30,
});

/** Returns the key that signs. A ring has exactly one. */
export function currentOf(document: RingDocument): RingKey {
  const current = document.keys.find((key) => key.state === "current");
  if (current === undefined) throw new Error("the key ring has no current key");
  return current;
}

/** Returns whether a key verifies tokens: it does unless it is retired. */
export function isLive(key: RingKey): boolean {
  return key.state !== "retired";
}
