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
 * far more room than their text, most of all when each of them has names of its own.
 */
export function cacheCost(tokenLength: number, claims: object): number {
  let cost = 1024 + 2 * tokenLength;
  const open: object[] = [claims];
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    const members: unknown[] = Object.values(each);
    cost += 144 + 16 * members.length;
    for (const member of members) if (typeof member === "object" && member !== null) open.push(member);
  }
  return cost;
}

/** An entry on the way from the one used last to the one used longest ago. */
interface Link {
  readonly id: string;
  readonly token: CachedToken;
  newer: Link | undefined;
  older: Link | undefined;
}

/**
 * The entries are linked in the order of their use. A Map alone, whose order would do, leaves a gap wherever an entry is
 * moved or removed, and skips thousands of them to find its first.
 *
 * @param maxEntries how many tokens, at least 1
 */
export function createVerifiedCache(maxEntries: number, maxBytes: number): VerifiedCache {
  const links = new Map<string, Link>();
  let newest: Link | undefined;
  let oldest: Link | undefined;
  let bytes = 0;

  function attach(link: Link): void {
    link.older = newest;
    if (newest === undefined) oldest = link;
    else newest.newer = link;
    newest = link;
  }

  function detach(link: Link): void {
    const { newer, older } = link;
    if (newer === undefined) newest = older;
    else newer.older = older;
    if (older === undefined) oldest = newer;
    else older.newer = newer;
    link.newer = undefined;
  }

  function remove(link: Link): void {
    links.delete(link.id);
    detach(link);
    bytes -= link.token.bytes;
  }

  return {
    get(id) {
      const link = links.get(id);
      if (link === undefined) return undefined;
      if (link !== newest) {
        detach(link);
        attach(link);
      }
      return link.token;
    },
    set(id, token) {
      const known = links.get(id);
      if (known !== undefined) remove(known);
      if (token.bytes > maxBytes) return;
      const link: Link = { id, token, newer: undefined, older: undefined };
      links.set(id, link);
      attach(link);
      bytes += token.bytes;
      while (oldest !== undefined && (links.size > maxEntries || bytes > maxBytes)) remove(oldest);
    },
    delete(id) {
      const link = links.get(id);
      if (link !== undefined) remove(link);
    },
    get size() {
      return links.size;
    },
    get bytes() {
      return bytes;
    },
  };
}
