import type { KeyObject } from "node:crypto";
import { type Algorithm, algorithms } from "../../src/algorithms.ts";
import type { KeySource } from "../../src/key-source.ts";
import { keyFor } from "./key-fixtures.ts";

/** A key of a fixed source. */
export interface FixedKey {
  readonly kid?: string | undefined;
  readonly algorithm: Algorithm;
  readonly key: KeyObject;
}

/**
 * Creates a source of these keys. For a token without a kid, it returns the key of the algorithm if there is exactly
 * one.
 */
export function fixedKeys(keys: readonly FixedKey[]): KeySource {
  return {
    generation: 0,
    find(kid, algorithm) {
      const found = keys.filter(
        (each) => each.algorithm === algorithm && (kid === undefined || each.kid === kid),
      );
      return found.length === 1 ? found[0]?.key : undefined;
    },
  };
}

/** Creates a source that returns the fixture key of each algorithm, for any kid. */
export function everyKey(): KeySource {
  const keys = new Map(algorithms.map((each) => [each, keyFor(each).publicKey]));
  return { generation: 0, find: (_, algorithm) => keys.get(algorithm) };
}
