import { cpuMeter } from "./cpu-meter.ts";
import { createLoop, type Window } from "./loop.ts";
import type { Settings } from "./options.ts";
import { startPacer } from "./pacer.ts";
import type { PlannedRequest } from "./plan.ts";
import { emptyTally, type Tally } from "./tally.ts";

/** The measurements of the generator with a number of clients. */
export interface Generated {
  readonly tally: Tally;
  /** Measured seconds, without the warm-up. */
  readonly seconds: number;
  /** CPU time of this process in percent of one CPU. */
  readonly cpu: number;
}

/** Maximum time between two checks for requests that have passed their time limit, in milliseconds. */
const MOST_SWEEP_MS = 250;
/** Time that connections have after the time limit to report the end of their requests, in milliseconds. */
const GRACE_MS = 2000;

/**
 * Sends the planned requests with a number of clients during the warm-up and the step. Counts the requests that began in
 * the step when they have ended.
 *
 * @param onProgress receives the seconds since the end of the warm-up and the responses since then, once per second
 */
export async function generate(
  clientCount: number,
  planned: readonly PlannedRequest[],
  settings: Settings,
  onProgress: (seconds: number, answers: number) => void,
  signal?: AbortSignal,
): Promise<Generated> {
  const { seconds, warmUpSeconds, rate, timeoutSeconds } = settings;
  const timeoutMs = timeoutSeconds * 1000;
  const beganAt = performance.now();
  const from = beganAt + warmUpSeconds * 1000;
  const window: Window = { beganAt, from, until: from + seconds * 1000 };
  const tally = emptyTally();
  const cpu = cpuMeter();
  const loop = createLoop(clientCount, planned, settings, window, tally);
  const destroy = (): void => void loop.destroy();

  const finish = (): void => {
    cpu.stop();
    // The timer may fire in the millisecond before the end.
    window.until = Math.min(window.until, performance.now());
    loop.stop();
    timers.push(setTimeout(destroy, timeoutMs + GRACE_MS));
  };
  /** Drops the requests that have not ended, because the interruption cuts their time short. */
  const interrupt = (): void => {
    cpu.stop();
    window.until = Math.min(window.until, performance.now());
    destroy();
  };

  const timers = [
    setTimeout(cpu.start, from - beganAt),
    setTimeout(finish, window.until - beganAt),
    setInterval(() => onProgress((performance.now() - from) / 1000, tally.answers), 1000),
    setInterval(() => loop.expire(), Math.min(timeoutMs / 4, MOST_SWEEP_MS)),
  ];
  signal?.addEventListener("abort", interrupt, { once: true });
  loop.start();
  const pacer = rate === undefined ? undefined : startPacer(beganAt, rate, () => loop.sendDue());
  try {
    await loop.ended;
  } finally {
    signal?.removeEventListener("abort", interrupt);
    for (const timer of timers) clearTimeout(timer);
    await pacer?.[Symbol.asyncDispose]();
    await loop.destroy();
  }
  return { tally, seconds: Math.max(window.until - from, 0) / 1000, cpu: cpu.percent() };
}
