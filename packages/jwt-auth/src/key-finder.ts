import type { KeyObject } from "node:crypto";
import type { Algorithm } from "./algorithms.ts";
import type { ReadKeys } from "./key-reader.ts";
import { keySetOf } from "./key-set.ts";

/** Finds keys among those that the application configured, or that its function returned. */
export interface KeyFinder {
  /** Returns the key for a kid and algorithm, by the rules of a fetched set (KEY-11). */
  find(this: void, kid: string | undefined, algorithm: Algorithm): KeyObject | undefined;
  /** Returns whether a key is meant for this kid, even if it does not fit the algorithm. */
  names(this: void, kid: string | undefined): boolean;
}

/**
 * Creates a finder. A JWK with a `kid`, and every key of a set, verifies only tokens with this `kid`; any other single key
 * ignores it. A token without a `kid` is verified if there is exactly one key.
 */
export function finderOf({ keys, single }: ReadKeys, allowed: readonly Algorithm[]): KeyFinder {
  const usable = keys.map((each) => ({
    ...each,
    algorithms: each.algorithms.filter((algorithm) => allowed.includes(algorithm)),
  }));
  const set = keySetOf(usable);
  const anyKid = single && keys[0]?.kid === undefined;
  const ids = new Set(keys.map(({ kid }) => kid));
  return {
    find: (kid, algorithm) => set.find(anyKid ? undefined : kid, algorithm),
    names: (kid) => (anyKid || kid === undefined ? keys.length === 1 : ids.has(kid)),
  };
}
