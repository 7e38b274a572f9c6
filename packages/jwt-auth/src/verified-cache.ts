import { hash, type KeyObject } from "node:crypto";
import type { TokenHeader } from "./token-parser.ts";
import type { Verified } from "./verification.ts";

/** A verified token that is remembered, with all that a later use of it depends on. */
export interface CachedToken {
  readonly verified: Verified;
  readonly header: TokenHeader;
  readonly key: KeyObject;
  /** Holds from this second on and before the other, leeway included. */
  readonly from: number;
  readonly until: number;
  /** The generation of the keys at which `key` was last seen among them. */
  generation: number;
  /** What the entry counts for in memory. */
  readonly bytes: number;
}

/** Remembers verified tokens: those used last, up to a number of them and of bytes. */
export interface VerifiedCache {
  get(id: string): CachedToken | undefined;
  set(id: string, token: CachedToken): void;
  delete(id: string): void;
  readonly size: number;
  readonly bytes: number;
}

/** The name of a token in the cache: a hash of all of it, so that no bearer token lies in memory. */
export function cacheId(token: string): string {
  return hash("sha256", token, "binary");
}

/**
 * What a token costs to remember, in bytes, estimated from above: its text, and its claims, whose small objects take
 * far more room than their text.
 */
export function cacheCost(tokenLength: number, claims: object): number {
  let cost = 1024 + 2 * tokenLength;
  const open: object[] = [claims];
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    const members: unknown[] = Object.values(each);
    cost += 64 + 16 * members.length;
    for (const member of members) if (typeof member === "object" && member !== null) open.push(member);
  }
  return cost;
}

/** @param maxEntries how many tokens, at least 1 */
export function createVerifiedCache(maxEntries: number, maxBytes: number): VerifiedCache {
  // A Map keeps the order of insertion, so the entry used longest ago is its first.
  const entries = new Map<string, CachedToken>();
  let bytes = 0;
  function remove(id: string): void {
    const entry = entries.get(id);
    if (entry === undefined) return;
    entries.delete(id);
    bytes -= entry.bytes;
  }
  return {
    get(id) {
      const entry = entries.get(id);
      if (entry === undefined) return undefined;
      entries.delete(id);
      entries.set(id, entry);
      return entry;
    },
    set(id, entry) {
      remove(id);
      if (entry.bytes > maxBytes) return;
      entries.set(id, entry);
      bytes += entry.bytes;
      for (const oldest of entries.keys()) {
        if (entries.size <= maxEntries && bytes <= maxBytes) return;
        remove(oldest);
      }
    },
    delete: remove,
    get size() {
      return entries.size;
    },
    get bytes() {
      return bytes;
    },
  };
}
