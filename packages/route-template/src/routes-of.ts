import { METHODS } from "node:http";
import { type PathTemplate, ROOT, shown } from "./path-template.ts";
import {
  type AppShape,
  isAppShape,
  layersOf,
  type LayerShape,
  type RouteShape,
  routerOf,
} from "./router-shapes.ts";
import { placesOf, walkRouter } from "./walk-router.ts";

/** What a guard says of itself under `Symbol.for("@svc/guard")`. */
export interface Guard {
  /** For example `scopes`. */
  readonly kind: string;
  /** For example the scopes that it requires. */
  readonly values: readonly string[];
}

/** One route under one method. */
export interface Route {
  /** In upper case; `*` for a route that answers every method. */
  readonly method: string;
  /** The template with its mounts: `/t/:tenant/items/:id`. */
  readonly path: string;
  /** The guards that a request meets on its way to the handler, in order, each once. */
  readonly guards: readonly Guard[];
}

const GUARD: unique symbol = Symbol.for("@svc/guard") as never;
const EVERY_METHOD = "*";

/**
 * Returns the routes of an application or router of Express 4 or 5, in the order in which they were added. Reads the
 * routers at each call: call it once all routes are there. Routes of a mounted application (`app.use(other)`) are not
 * visible from `app`; `routesOf(other)` returns them with the paths of the mount.
 *
 * @throws TypeError when `app` is no application and no router of Express
 */
export function routesOf(app: unknown): readonly Route[] {
  const router = routerOf(app);
  if (router === undefined && !isAppShape(app)) {
    throw new TypeError("routesOf(app): app must be an application or a router of Express");
  }
  const layers = router?.stack ?? layersOf(app as AppShape);
  const routes: Route[] = [];
  for (const prefix of router === undefined ? placesOf(app as AppShape) : [ROOT]) {
    const passed: { readonly place: PathTemplate; readonly guard: Guard }[] = [];
    walkRouter(layers, prefix, {
      route(route, template) {
        const before = passed.flatMap(({ place, guard }) => (covers(place, template) ? [guard] : []));
        for (const [method, own] of guardsByMethod(route)) {
          routes.push({ method, path: shown(template), guards: [...new Set([...before, ...own])] });
        }
      },
      closed(handle, place) {
        const guard = guardOf(handle);
        if (guard !== undefined) passed.push({ place, guard });
      },
    });
  }
  return routes;
}

function guardOf(handle: unknown): Guard | undefined {
  return (handle as { readonly [GUARD]?: Guard } | undefined)?.[GUARD];
}

/** Whether each request of a route passes a handler that is mounted at `place`. */
function covers({ segments, open }: PathTemplate, route: PathTemplate): boolean {
  if (open || segments.length > route.segments.length) return false;
  return segments.every((segment, index) => segment === undefined || segment === route.segments[index]);
}

function guardsByMethod({ stack = [] }: RouteShape): ReadonlyMap<string, readonly Guard[]> {
  const methods = new Set(stack.map(({ method }) => method?.toUpperCase() ?? EVERY_METHOD));
  // `app.all()` adds one layer for each method that Node knows.
  if (METHODS.every((method) => methods.has(method))) return new Map([[EVERY_METHOD, guardsIn(stack)]]);
  return new Map(
    [...methods].map((method) => [
      method,
      guardsIn(stack.filter((layer) => layer.method === undefined || layer.method.toUpperCase() === method)),
    ]),
  );
}

function guardsIn(stack: readonly LayerShape[]): readonly Guard[] {
  return stack.flatMap(({ handle }) => guardOf(handle) ?? []);
}
