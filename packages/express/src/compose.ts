import type { Middleware } from "@svc/context";

/**
 * One middleware that runs several in turn. The router of Express pays for every layer that it passes; these are
 * known from the start, so they share one.
 */
export function compose(layers: readonly Middleware[]): Middleware {
  const [first, ...others] = layers;
  if (first === undefined)
    return function nothing(_req, _res, next) {
      next();
    };
  if (others.length === 0) return first;
  const rest = compose(others);
  return function composed(req, res, next) {
    first(req, res, (err) => {
      // What Express takes for an error is anything that is truthy: `next(null)` goes on.
      if (err) next(err);
      else rest(req, res, next);
    });
  };
}
