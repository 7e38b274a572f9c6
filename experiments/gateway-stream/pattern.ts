import { randomFillSync } from "node:crypto";

/** A prime number, so that bytes do not match the pattern if whole buffers are lost, repeated or swapped. */
const periodBytes = 1_048_573;
const chunkBytes = 64 * 1024;

const period = randomFillSync(Buffer.allocUnsafe(periodBytes));
/** Two periods, so that a chunk that starts in the first period is one slice. */
const periods = Buffer.concat([period, period]);

/** Yields a number of random bytes that repeat after each period. */
export function* patternOf(bytes: number): Generator<Buffer> {
  for (let at = 0; at < bytes; at += chunkBytes) {
    const start = at % periodBytes;
    yield periods.subarray(start, start + Math.min(chunkBytes, bytes - at));
  }
}

/** Counts bytes, and compares them with the pattern. */
export interface PatternCheck {
  add(chunk: Buffer): void;
  readonly bytes: number;
  /** Whether all bytes so far match. */
  readonly matches: boolean;
}

export function checkPattern(): PatternCheck {
  let bytes = 0;
  let matches = true;
  return {
    add(chunk) {
      for (let at = 0; at < chunk.length; at += chunkBytes) {
        const part = chunk.subarray(at, at + chunkBytes);
        const start = bytes % periodBytes;
        matches &&= part.equals(periods.subarray(start, start + part.length));
        bytes += part.length;
      }
    },
    get bytes() {
      return bytes;
    },
    get matches() {
      return matches;
    },
  };
}
