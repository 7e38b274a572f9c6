import { Worker } from "node:worker_threads";

/** Calls a function shortly before fixed times until it is disposed of. */
export interface Pacer extends AsyncDisposable {
  /** Milliseconds between two calls. */
  readonly gapMs: number;
}

/** Minimum gap in milliseconds. A shorter gap would cost more messages than it gains in precision. */
const SHORTEST_GAP_MS = 0.2;
/** Milliseconds by which the thread wakes up before a call is due, so that the call is only slightly early or late. */
export const LEAD_MS = 0.1;

// Node's timers fire on whole milliseconds, so a request would leave up to a millisecond late. A thread that only waits
// wakes within a twentieth of that. It sends no second message before the first one has been received.
const source = `
const { parentPort, workerData: { cell, startMs, gapMs } } = require("node:worker_threads");
const flag = new Int32Array(cell);
const nowMs = () => Number(process.hrtime.bigint()) / 1e6;
for (let tick = 0; Atomics.load(flag, 1) === 0; tick = Math.max(tick + 1, Math.floor((nowMs() - startMs) / gapMs))) {
  const waitMs = startMs + tick * gapMs - nowMs();
  if (waitMs > 0) Atomics.wait(flag, 1, 0, waitMs);
  if (Atomics.compareExchange(flag, 0, 0, 1) === 0) parentPort.postMessage(0);
}`;

/**
 * Starts a pacer.
 *
 * @param startMs the first call, on the clock of `performance.now()`
 * @param rate calls per second
 */
export function startPacer(startMs: number, rate: number, call: () => void): Pacer {
  const cell = new SharedArrayBuffer(8);
  const flag = new Int32Array(cell);
  const gapMs = Math.max(1000 / rate, SHORTEST_GAP_MS);
  // Threads have different origins of performance.now(), but the same process.hrtime().
  const offsetMs = Number(process.hrtime.bigint()) / 1e6 - performance.now() - LEAD_MS;
  const worker = new Worker(source, { eval: true, workerData: { cell, startMs: startMs + offsetMs, gapMs } });
  worker.on("message", () => {
    Atomics.store(flag, 0, 0);
    call();
  });
  return {
    gapMs,
    async [Symbol.asyncDispose]() {
      Atomics.store(flag, 1, 1);
      Atomics.notify(flag, 1);
      await worker.terminate();
    },
  };
}
