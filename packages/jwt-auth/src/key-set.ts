import type { KeyObject } from "node:crypto";
import type { Algorithm } from "./algorithms.ts";

/** A key that may verify tokens. */
export interface UsableKey {
  readonly kid: string | undefined;
  /** What it verifies: algorithms that are configured and fit it, one at least. */
  readonly algorithms: readonly Algorithm[];
  /** Its public numbers as text: two keys are the same when these are. */
  readonly material: string;
  readonly key: KeyObject;
}

/** All keys of one moment; never changed, only replaced by another one. */
export interface KeySet {
  /** How many usable keys there are. */
  readonly size: number;
  /** The same text for the same keys under the same ids, whatever their order. */
  readonly identity: string;
  /** Whether a key goes by this id. */
  has(kid: string): boolean;
  /** Allocates nothing: it is asked for every token. */
  find(kid: string | undefined, algorithm: Algorithm): KeyObject | undefined;
  /** The key object that these public numbers have here. */
  known(material: string): KeyObject | undefined;
}

type ByAlgorithm = ReadonlyMap<Algorithm, KeyObject>;

/** @param keys in their order: of two keys for the same id and algorithm the first is taken */
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
  // A token that names no key is for the one key there is, and for none where there is a choice (KEY-11).
  const only = lines.size === 1 ? first : undefined;

  return {
    size: lines.size,
    identity: [...lines].toSorted().join("\n"),
    has: (kid) => byKid.has(kid),
    find: (kid, algorithm) => (kid === undefined ? only : byKid.get(kid))?.get(algorithm),
    known: (material) => materials.get(material),
  };
}

/** The set before any was fetched. */
export const noKeys: KeySet = keySetOf([]);
