import type { Middleware } from "@svc/context";

/**
 * Combines several middleware functions into one, because every layer of the Express router has a cost. As in the router of
 * Express 5, a falsy error counts as none, and what a layer throws or rejects with becomes an error of the request.
 */
export function compose(layers: readonly Middleware[]): Middleware {
  return function composed(req, res, next) {
    let index = 0;
    function fail(err: unknown): void {
      next(err || new Error("a middleware threw a falsy value"));
    }
    function step(err?: unknown): void {
      const layer = err ? undefined : layers[index++];
      if (layer === undefined) {
        next(err);
        return;
      }
      try {
        const result: unknown = layer(req, res, step);
        if (result instanceof Promise) result.catch(fail);
      } catch (error) {
        fail(error);
      }
    }
    step();
  };
}
