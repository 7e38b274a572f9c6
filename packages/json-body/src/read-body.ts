import type { IncomingMessage } from "node:http";
import type { ProblemError } from "@svc/problem";
import { malformed, tooLarge } from "./faults.ts";

/**
 * Reads a request to its end. Calls `done` once, with the body or with the fault that ended it. Counts the bytes as
 * they arrive (LIM-3). Uses at most twice the limit in memory, even if the body arrives in chunks of one byte.
 */
export function readBody(
  req: IncomingMessage,
  maxBytes: number,
  done: (fault: ProblemError | undefined, body: Buffer) => void,
): void {
  let held: Buffer = EMPTY;
  let size = 0;
  const finish = (fault: ProblemError | undefined): void => {
    req.off("data", onData);
    req.off("end", onEnd);
    req.off("error", onBroken);
    req.off("close", onBroken);
    done(fault, held.subarray(0, size));
  };
  const onData = (chunk: Buffer): void => {
    const total = size + chunk.length;
    if (total > maxBytes) {
      finish(tooLarge(maxBytes));
      return;
    }
    held = size === 0 ? chunk : appended(held, size, chunk, maxBytes);
    size = total;
  };
  const onEnd = (): void => finish(undefined);
  const onBroken = (): void => {
    finish(malformed("ERR_SVC_BODY_INCOMPLETE", "the request ended before its body was complete"));
  };
  if (req.destroyed) {
    // The client disconnected before this reader started, and a destroyed stream emits no more events.
    onBroken();
    return;
  }
  req.on("data", onData);
  req.on("end", onEnd);
  req.on("error", onBroken);
  req.on("close", onBroken);
}

const EMPTY = Buffer.alloc(0);

// A list of chunks would use a hundred times the memory if a client sends single bytes.
function appended(held: Buffer, size: number, chunk: Buffer, maxBytes: number): Buffer {
  const total = size + chunk.length;
  let target = held;
  if (held.length < total) {
    target = Buffer.allocUnsafe(Math.min(maxBytes, Math.max(2 * total, 4_096)));
    held.copy(target, 0, 0, size);
  }
  chunk.copy(target, size);
  return target;
}
