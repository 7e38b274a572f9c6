import { defineOptions, kinds as k, type OptionsOf } from "@svc/options";
import { type Bucket, MICRO, type RateLimitStore, secondsToGain, type Taken } from "./bucket.ts";
import { createHeap, type HeapEntry } from "./heap.ts";

/** Options of `memoryStore()`. */
export const memoryStoreOptions = defineOptions("memoryStore()", {
  /**
   * Maximum number of buckets. A new bucket then replaces the bucket that will be full first, so that drained buckets stay.
   * Default: 100,000.
   */
  maxKeys: { kind: k.withDefault(k.integer({ min: 1, max: 10_000_000 }), 100_000) },
  /** Monotonic clock in milliseconds, for tests. Default: `performance.now`. */
  now: { kind: k.monotonicClock },
});

/** Options of {@link memoryStore}. */
export type MemoryStoreOptions = OptionsOf<typeof memoryStoreOptions>;

/** A store in the memory of this process. */
export interface MemoryStore extends RateLimitStore {
  take(key: string, bucket: Bucket, cost: number): Taken;
  /** Number of buckets that are not full, and of full buckets that were not removed yet. */
  readonly size: number;
}

interface Entry extends HeapEntry {
  readonly key: string;
  microTokens: number;
  /** Time of the last step in microseconds. */
  at: number;
}

// A step that adds a bucket removes up to two full ones, so that their number falls even if every request adds a bucket.
const REMOVED_PER_STEP = 2;

/**
 * Returns a store in the memory of this process. A bucket needs about 250 bytes; a full bucket needs none. Each step costs
 * at most a few dozen comparisons for any number of buckets.
 *
 * @throws ConfigurationError for invalid options
 */
export function memoryStore(options?: MemoryStoreOptions): MemoryStore {
  const { maxKeys, now } = memoryStoreOptions.resolve(options);
  const entries = new Map<string, Entry>();
  // The rank is the time at which a bucket is full.
  const heap = createHeap<Entry>();

  function remove(entry: Entry): void {
    heap.remove(entry);
    entries.delete(entry.key);
  }

  function removeFull(at: number): void {
    for (let count = 0; count < REMOVED_PER_STEP; count++) {
      const first = heap.first;
      if (first === undefined || first.rank > at) return;
      remove(first);
    }
  }

  return {
    take(key, bucket, cost) {
      const { limit, windowSeconds, burst } = bucket;
      const at = Math.floor(now() * 1000);
      const full = burst * MICRO;
      const price = cost * MICRO;
      let entry = entries.get(key);
      let level = full;
      if (entry !== undefined) {
        const gained = Math.floor((Math.max(0, at - entry.at) * limit) / windowSeconds);
        level = Math.min(full, entry.microTokens + gained);
      }
      // A refusal changes nothing: the level follows from the last admission.
      if (level < price) return { isAdmitted: false, microTokens: level };
      level -= price;
      const rank = at + Math.ceil(secondsToGain(full - level, bucket) * 1e6);
      if (entry === undefined) {
        removeFull(at);
        if (entries.size >= maxKeys && heap.first !== undefined) remove(heap.first);
        entry = { key, microTokens: level, at, rank, index: -1 };
        entries.set(key, entry);
        heap.add(entry);
      } else {
        entry.microTokens = level;
        entry.at = at;
        heap.move(entry, rank);
      }
      return { isAdmitted: true, microTokens: level };
    },
    get size() {
      return entries.size;
    },
  };
}
