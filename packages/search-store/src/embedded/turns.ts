import { SearchError } from "../errors.ts";

/** Lets one at a time, in the order in which they came. */
export interface Turns {
  /**
   * Resolves when it is this one's turn, with what ends it.
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
          const message = `the embedded database was busy for ${waitTimeoutMs} ms: it has one connection, and somebody holds it`;
          reject(new SearchError("ERR_SVC_SEARCH_EMBEDDED", message));
        }, waitTimeoutMs);
        waiting.push(begin);
      });
    },
  };
}
