import { SearchError } from "../errors.ts";

/** A first-in, first-out mutex. */
export interface Turns {
  /**
   * Waits for the turn and returns the function that ends it.
   *
   * @throws SearchError `ERR_SVC_SEARCH_EMBEDDED` after waiting too long
   */
  take(): Promise<() => void>;
}

export function createTurns(waitTimeoutMs: number): Turns {
  const waiting: (() => void)[] = [];
  let busy = false;

  const next = (): void => {
    const first = waiting.shift();
    if (first === undefined) busy = false;
    else first();
  };
  const ender = (): (() => void) => {
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      next();
    };
  };

  return {
    take() {
      if (!busy) {
        busy = true;
        return Promise.resolve(ender());
      }
      return new Promise((resolve, reject) => {
        const begin = (): void => {
          clearTimeout(timer);
          resolve(ender());
        };
        const timer = setTimeout(() => {
          waiting.splice(waiting.indexOf(begin), 1);
          const message = `the embedded database was busy for ${waitTimeoutMs} ms: it has one connection, and another caller holds it`;
          reject(new SearchError("ERR_SVC_SEARCH_EMBEDDED", message));
        }, waitTimeoutMs);
        waiting.push(begin);
      });
    },
  };
}
