import type { ReadinessCheck } from "@svc/context";
import type { KeyObject } from "node:crypto";
import type { Algorithm } from "./algorithms.ts";

/** Where the keys come from that tokens are verified with. */
export interface KeySource {
  /** Goes up whenever a key was added, changed or taken away: what was verified before is looked at again. */
  readonly generation: number;
  /** The algorithms that it has keys for, as configured. Absent where it leaves that to the verifier. */
  readonly algorithms?: readonly Algorithm[] | undefined;
  /** The key that is known now for a token's kid and algorithm. Never waits; the same key is the same object. */
  find(kid: string | undefined, algorithm: Algorithm): KeyObject | undefined;
  /**
   * Asked for a key that `find` does not know. Resolves with it, or with undefined when there is no such key;
   * rejects when no answer could be had. Absent where the keys never change.
   */
  refresh?(kid: string | undefined, algorithm: Algorithm): Promise<KeyObject | undefined>;
  /** What `/ready` says about the keys. Absent where nothing can fail. */
  readiness?(): ReadinessCheck;
  /** Ends timers and requests under way. */
  stop?(): void;
}
