/** Wakes one waiter. What rings while nobody waits is kept for the next wait. */
export interface Bell {
  /** `atOnce`: nothing else of this turn is waited for. */
  ring(atOnce?: boolean): void;
  /** Resolves at the next ring, or after `ms`, and then lets all else of this turn happen: it is seen together. */
  wait(ms: number): Promise<void>;
}

export function createBell(): Bell {
  let rung = false;
  let hasty = false;
  let wake: (() => void) | undefined;
  return {
    ring(atOnce = false) {
      rung = true;
      hasty ||= atOnce;
      wake?.();
    },
    async wait(ms) {
      if (!rung) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, Math.max(0, ms));
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
        wake = undefined;
      }
      if (!hasty) await new Promise<void>((resolve) => void setImmediate(resolve));
      rung = false;
      hasty = false;
    },
  };
}
