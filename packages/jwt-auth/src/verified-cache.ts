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

/** An entry: on the way from the one used last to the one used longest ago, and among those of its bucket. */
interface Link {
  readonly id: string;
  readonly token: CachedToken;
  newer: Link | undefined;
  older: Link | undefined;
  nextInBucket: Link | undefined;
  /** How many links had been put in front when this one was. */
  turn: number;
}

const MAX_BUCKETS = 65_536;

/**
 * The entries are linked in the order of their use, to an eighth of their number, and found through buckets. A Map would
 * do both, at a price: it leaves a gap wherever an entry is moved or removed, and each table that it outgrows keeps the
 * next one, and all that was in it, alive until the next full garbage collection.
 *
 * @param maxEntries how many tokens, at least 1
 */
export function createVerifiedCache(maxEntries: number, maxBytes: number): VerifiedCache {
  const length = powerOfTwoFrom(Math.min(maxEntries, MAX_BUCKETS));
  const buckets = Array.from<Link | undefined>({ length });
  const mask = length - 1;
  let turns = 0;
  let newest: Link | undefined;
  let oldest: Link | undefined;
  let size = 0;
  let bytes = 0;

  // The id is a hash already: its first bits are as good as any.
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
    // A link that is gone must point at none that is there: garbage that is old keeps what is young alive.
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
    get(id) {
      const link = find(id);
      if (link === undefined) return undefined;
      // What is among the newest eighth stays where it is: moving it would write to three links at every request.
      if (turns - link.turn > size >> 3) {
        detach(link);
        attach(link);
      }
      return link.token;
    },
    set(id, token) {
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
    delete(id) {
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
