/** Wakes one waiter. A ring without a waiter ends the next wait at once. */
export interface Bell {
  /** `atOnce`: do not wait for the rest of this turn. */
  ring(atOnce?: boolean): void;
  /**
   * Resolves at the next ring or after `ms`, and lets the current turn finish, so that its events are handled together.
   */
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
