import type { KeyObject } from "node:crypto";
import type { Algorithm } from "./algorithms.ts";

/** A key that may verify tokens. */
export interface UsableKey {
  readonly kid: string | undefined;
  /** The configured algorithms that the key fits; at least one. */
  readonly algorithms: readonly Algorithm[];
  /** The public key as text; equal for equal keys. */
  readonly material: string;
  readonly key: KeyObject;
}

/** An immutable set of keys; a refresh replaces it whole. */
export interface KeySet {
  /** Number of usable keys. */
  readonly size: number;
  /** Equal for equal keys with equal ids, in any order. */
  readonly identity: string;
  /** Returns whether a key has this id. */
  has(kid: string): boolean;
  /** Returns the key for a token. Allocates nothing, because every token calls it. */
  find(kid: string | undefined, algorithm: Algorithm): KeyObject | undefined;
  /** Returns the key object for this `material`, or undefined. */
  known(material: string): KeyObject | undefined;
}

type ByAlgorithm = ReadonlyMap<Algorithm, KeyObject>;

/** Builds a set. Uses the first of two keys for the same id and algorithm. */
export function keySetOf(keys: readonly UsableKey[]): KeySet {
  const byKid = new Map<string, Map<Algorithm, KeyObject>>();
  const materials = new Map<string, KeyObject>();
  const lines = new Set<string>();
  let first: ByAlgorithm | undefined;

  for (const { kid, algorithms, material, key } of keys) {
    const taken = kid === undefined ? undefined : byKid.get(kid);
    const free = algorithms.filter((algorithm) => taken?.has(algorithm) !== true);
    const line = JSON.stringify([kid ?? null, free, material]);
    if (free.length === 0 || lines.has(line)) continue;
    lines.add(line);
    materials.set(material, key);
    const own = taken ?? new Map<Algorithm, KeyObject>();
    for (const algorithm of free) own.set(algorithm, key);
    first ??= own;
    if (kid !== undefined) byKid.set(kid, own);
  }
  // A token without a kid matches only when the set has exactly one key (KEY-11).
  const only = lines.size === 1 ? first : undefined;

  return {
    size: lines.size,
    identity: [...lines].toSorted().join("\n"),
    has: (kid) => byKid.has(kid),
    find: (kid, algorithm) => (kid === undefined ? only : byKid.get(kid))?.get(algorithm),
    known: (material) => materials.get(material),
  };
}

/** The empty set, in use before the first fetch. */
export const noKeys: KeySet = keySetOf([]);
