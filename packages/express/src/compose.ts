import type { Middleware } from "@svc/context";

/**
 * One middleware that runs several in turn. The router of Express pays for every layer that it passes; these are
 * known from the start, so they share one.
 */
export function compose(layers: readonly Middleware[]): Middleware {
  return function composed(req, res, next) {
    let index = 0;
    function step(err?: unknown): void {
      const layer = err === undefined ? layers[index++] : undefined;
      if (layer === undefined) next(err);
      else layer(req, res, step);
    }
    step();
  };
}
