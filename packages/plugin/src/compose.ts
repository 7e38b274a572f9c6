import type { Middleware } from "@svc/context";

/** Combines several middleware functions into one, because every layer of the Express router has a cost. */
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
