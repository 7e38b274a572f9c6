import { type Guard, guardOf } from "@svc/context";
import { METHODS } from "node:http";
import { type PathTemplate, ROOT, shown, UNKNOWN } from "./path-template.ts";
import { isApplication, isRouter, layersOf, type LayerShape, type RouteShape } from "./router-shapes.ts";
import { lastPlacesOf, walkRouter } from "./walk-router.ts";

/** A route for one HTTP method. */
export interface Route {
  /** In upper case; `*` for a route that handles every method. */
  readonly method: string;
  /** The template with its mounts: `/t/:tenant/items/:id`. */
  readonly path: string;
  /** The guards that run before the handler, in order, each once. */
  readonly guards: readonly Guard[];
  /** The handlers of the route itself, in order. Tools read the description that a handler carries. */
  readonly handlers: readonly unknown[];
}

const EVERY_METHOD = "*";

/**
 * Returns the routes of an Express 4 or 5 application or router, in the order in which they were added. Reads the routers at
 * each call: call it after all routes have been added. Routes of a mounted application (`app.use(other)`) are not visible
 * from `app`; `routesOf(other)` returns them with the path of its last mount, without the guards of `app`.
 *
 * @throws TypeError when `app` is not an Express application or router
 */
export function routesOf(app: unknown): readonly Route[] {
  if (!isApplication(app) && !isRouter(app)) {
    throw new TypeError("routesOf(app): app must be an Express application or router");
  }
  const [layers, prefixes] = isApplication(app)
    ? [layersOf(app), lastPlacesOf(app)]
    : [app.stack, [ROOT] as const];
  const routes: Route[] = [];
  for (const prefix of prefixes) {
    const passed: { readonly place: PathTemplate; readonly guard: Guard }[] = [];
    walkRouter(layers, prefix, {
      route(route, template) {
        const before = passed.flatMap(({ place, guard }) => (covers(place, template) ? [guard] : []));
        for (const [method, handlers] of handlersByMethod(route)) {
          const own = handlers.flatMap((handle) => guardIn(handle) ?? []);
          routes.push({ method, path: shown(template), guards: [...new Set([...before, ...own])], handlers });
        }
      },
      closed(handle, place) {
        const guard = guardIn(handle);
        if (guard !== undefined) passed.push({ place, guard });
      },
    });
  }
  return routes;
}

function guardIn(handle: unknown): Guard | undefined {
  // Express calls a function with four parameters for errors only.
  if (typeof handle !== "function" || handle.length === 4) return undefined;
  return guardOf(handle);
}

const PARAMETER = /^:\w+$/;

/**
 * Returns whether every request that matches `route` also runs a handler mounted at the path `place`; false if this is
 * not certain.
 */
function covers(place: PathTemplate, route: PathTemplate): boolean {
  if (place.text.includes(UNKNOWN)) return false;
  if (place.open) return route.text === place.text || route.text.startsWith(`${place.text}/`);
  const inRoute = route.text.split("/");
  return place.text
    .split("/")
    .every((segment, index) => segment === inRoute[index] || coversSegment(segment, inRoute[index]));
}

/** Returns whether a segment is a parameter that matches everything that another segment matches. */
function coversSegment(segment: string, other: string | undefined): boolean {
  return PARAMETER.test(segment) && other !== undefined && /^(:\w+|[\w.~-]+)$/.test(other);
}

function handlersByMethod({ stack = [] }: RouteShape): ReadonlyMap<string, readonly unknown[]> {
  const methods = new Set(stack.map(({ method }) => method?.toUpperCase() ?? EVERY_METHOD));
  // `app.all()` adds one layer for each method that Node knows.
  if (METHODS.every((method) => methods.has(method))) return new Map([[EVERY_METHOD, handlersIn(stack)]]);
  return new Map(
    [...methods].map((method) => [
      method,
      handlersIn(
        stack.filter((layer) => layer.method === undefined || layer.method.toUpperCase() === method),
      ),
    ]),
  );
}

function handlersIn(stack: readonly LayerShape[]): readonly unknown[] {
  return stack.map(({ handle }) => handle);
}
