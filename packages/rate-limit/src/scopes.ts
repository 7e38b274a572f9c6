import type { Bucket } from "./bucket.ts";

/** Limits with one name in one store. They share their buckets, and a request is charged once for all of them. */
export interface Scope {
  readonly name: string;
  readonly bucket: Bucket;
  /** The prefix of its keys. The hash tag of a key contains scope and identity, so that a cluster spreads the keys. */
  readonly keyPrefix: string;
}

/** Returns the prefix of all keys of a service: the part before the hash tag. */
export function keyRoot(service: string): string {
  // A brace would begin the hash tag, and put all keys of the service into one slot.
  return `${service.replaceAll(/[{}]/g, "_")}:rl:`;
}

const scopes = new WeakMap<object, Map<string, Scope>>();

/**
 * Returns the scope with a name in a store, and creates it if it does not exist.
 *
 * @param service the first part of the keys
 * @returns the existing scope, whose bucket may have a different limit, window or burst
 */
export function scopeIn(store: object, service: string, name: string, bucket: Bucket): Scope {
  let known = scopes.get(store);
  if (known === undefined) scopes.set(store, (known = new Map()));
  const keyPrefix = `${keyRoot(service)}{${name}:`;
  let scope = known.get(keyPrefix);
  if (scope === undefined) known.set(keyPrefix, (scope = { name, bucket, keyPrefix }));
  return scope;
}

export function isSameBucket(a: Bucket, b: Bucket): boolean {
  return a.limit === b.limit && a.windowSeconds === b.windowSeconds && a.burst === b.burst;
}

/** Describes a bucket in error messages. */
export function shownBucket({ limit, windowSeconds, burst }: Bucket): string {
  return `${limit} per ${windowSeconds}s with burst ${burst}`;
}
