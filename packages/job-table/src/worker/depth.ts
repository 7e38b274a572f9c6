import type { JobStats } from "../job.ts";
import type { Tell } from "./events.ts";

/** Counts the table at intervals for the event `depth`. */
export interface Depth {
  start(): void;
  stop(): void;
}

/** @param everySeconds the interval; 0 turns it off */
export function createDepth(stats: () => Promise<JobStats>, tell: Tell, everySeconds: number): Depth {
  let timer: NodeJS.Timeout | undefined;
  let counting = false;

  async function count(): Promise<void> {
    // A slow count must not occupy several connections of the pool.
    if (counting) return;
    counting = true;
    try {
      tell({ type: "depth", stats: await stats() });
    } catch (error) {
      tell({ type: "fault", error });
    }
    counting = false;
  }

  return {
    start() {
      if (everySeconds > 0) timer = setInterval(() => void count(), everySeconds * 1000).unref();
    },
    stop: () => clearInterval(timer),
  };
}
