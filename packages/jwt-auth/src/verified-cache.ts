import { hash, type KeyObject } from "node:crypto";
import type { TokenHeader } from "./token-parser.ts";
import type { Verified } from "./verification.ts";

/** A cached verified token, with all data that a later use needs. */
export interface CachedToken {
  readonly verified: Verified;
  readonly header: TokenHeader;
  readonly key: KeyObject;
  /** The token is valid from `from` until just before `until`, in seconds, leeway included. */
  readonly from: number;
  readonly until: number;
  /** Generation of the key source when it last contained `key`. */
  generation: number;
  /** Estimated memory of the entry in bytes. */
  readonly bytes: number;
}

/** Returns the cache key of a token: a hash, so that the cache holds no bearer tokens. */
export function cacheId(token: string): string {
  return hash("sha256", token, "binary");
}

/**
 * Returns an upper estimate of a cached token's memory, in bytes. Counts the objects in the claims, because small objects
 * take far more memory than their text, especially with different member names.
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

/** An entry, linked into the list ordered by last use and into the list of its bucket. */
interface Link {
  readonly id: string;
  readonly token: CachedToken;
  newer: Link | undefined;
  older: Link | undefined;
  nextInBucket: Link | undefined;
  /** Value of the use counter when the entry last moved to the front. */
  turn: number;
}

const MAX_BUCKETS = 65_536;

/**
 * Creates the cache of the most recently used tokens, bounded by count and bytes: a list ordered by last use, accurate to an
 * eighth of its length, with hash buckets for look-up. A Map would need more memory: moved and removed entries leave gaps,
 * and when a Map grows, the old table keeps the new table and all entries alive until a full garbage collection.
 *
 * @param maxEntries maximum number of tokens, at least 1
 */
export function createVerifiedCache(maxEntries: number, maxBytes: number) {
  const length = powerOfTwoFrom(Math.min(maxEntries, MAX_BUCKETS));
  const buckets = Array.from<Link | undefined>({ length });
  const mask = length - 1;
  let turns = 0;
  let newest: Link | undefined;
  let oldest: Link | undefined;
  let size = 0;
  let bytes = 0;

  // The id is already a hash, so its first bits are evenly distributed.
  function bucketOf(id: string): number {
    return (id.charCodeAt(0) | (id.charCodeAt(1) << 8) | (id.charCodeAt(2) << 16)) & mask;
  }

  function find(id: string): Link | undefined {
    let link = buckets[bucketOf(id)];
    while (link !== undefined && link.id !== id) link = link.nextInBucket;
    return link;
  }

  function attach(link: Link): void {
    link.turn = turns += 1;
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
    // Clear the links of a removed entry. In V8's old generation they would otherwise keep entries that are removed later
    // alive until a full garbage collection.
    link.newer = undefined;
    link.older = undefined;
  }

  function remove(link: Link): void {
    const bucket = bucketOf(link.id);
    let before = buckets[bucket];
    if (before === link) buckets[bucket] = link.nextInBucket;
    else {
      while (before !== undefined && before.nextInBucket !== link) before = before.nextInBucket;
      if (before !== undefined) before.nextInBucket = link.nextInBucket;
    }
    link.nextInBucket = undefined;
    detach(link);
    size -= 1;
    bytes -= link.token.bytes;
  }

  return {
    get(id: string): CachedToken | undefined {
      const link = find(id);
      if (link === undefined) return undefined;
      // Do not move an entry that is among the newest eighth: otherwise every request would write to three links.
      if (turns - link.turn > size >> 3) {
        detach(link);
        attach(link);
      }
      return link.token;
    },
    set(id: string, token: CachedToken): void {
      const known = find(id);
      if (known !== undefined) remove(known);
      if (token.bytes > maxBytes) return;
      const bucket = bucketOf(id);
      const link: Link = {
        id,
        token,
        newer: undefined,
        older: undefined,
        nextInBucket: buckets[bucket],
        turn: 0,
      };
      buckets[bucket] = link;
      attach(link);
      size += 1;
      bytes += token.bytes;
      while (oldest !== undefined && (size > maxEntries || bytes > maxBytes)) remove(oldest);
    },
    delete(id: string): void {
      const link = find(id);
      if (link !== undefined) remove(link);
    },
    get size() {
      return size;
    },
    get bytes() {
      return bytes;
    },
  };
}

function powerOfTwoFrom(count: number): number {
  return 2 ** Math.ceil(Math.log2(count));
}
