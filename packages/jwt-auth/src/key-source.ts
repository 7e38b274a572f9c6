import type { ReadinessCheck } from "@svc/context";
import type { KeyObject } from "node:crypto";
import type { Algorithm } from "./algorithms.ts";

/** Source of the keys that verify tokens. */
export interface KeySource {
  /** Increases whenever a key is added, changed or removed, so that cached tokens are checked again. */
  readonly generation: number;
  /** Algorithms that the source has keys for. Absent if only the verifier's option `algorithms` limits them. */
  readonly algorithms?: readonly Algorithm[] | undefined;
  /** Returns the current key for a kid and algorithm. Never waits; returns the same object for the same key. */
  find(kid: string | undefined, algorithm: Algorithm): KeyObject | undefined;
  /**
   * Looks for a key that `find` does not know. Resolves with the key, or with undefined when it does not exist; rejects
   * when the keys cannot be fetched. Absent when the keys never change.
   */
  refresh?(kid: string | undefined, algorithm: Algorithm): Promise<KeyObject | undefined>;
  /** Creates the readiness check of the keys. Absent when the keys cannot become unavailable. */
  readiness?(): ReadinessCheck;
  /** Stops timers and running requests. */
  stop?(): void;
}
