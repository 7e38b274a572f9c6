import type { KeyObject } from "node:crypto";
import { type Algorithm, algorithms } from "../../src/algorithms.ts";
import type { KeySource } from "../../src/key-source.ts";
import { keyFor } from "./key-fixtures.ts";

/** One key of a source that never changes. */
export interface FixedKey {
  readonly kid?: string | undefined;
  readonly algorithm: Algorithm;
  readonly key: KeyObject;
}

/** A source of these keys and no others; without a kid the one key of the algorithm, if there is one alone. */
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

/** A source that has the fixture of every algorithm, whatever the kid. */
export function everyKey(): KeySource {
  const keys = new Map(algorithms.map((each) => [each, keyFor(each).publicKey]));
  return { generation: 0, find: (_, algorithm) => keys.get(algorithm) };
}
