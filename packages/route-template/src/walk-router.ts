import { alternatives, mounted, type PathTemplate, ROOT, routed } from "./path-template.ts";
import {
  type AppShape,
  layersBehind,
  layersOf,
  type LayerShape,
  mountPathsOf,
  type RouteShape,
} from "./router-shapes.ts";

// Limits for applications whose routers are mounted in each other many times. Routes beyond the limits are not found.
const MAX_LAYERS = 50_000;
export const MAX_PLACES = 64;

/** Receives the contents of a router, in the order in which a request reaches them. */
export interface RouterVisitor {
  /** Called once for each path of a route. */
  route(route: RouteShape, template: PathTemplate): void;
  /** Called for a handler whose routes cannot be read: middleware, an application, a function that wraps a router. */
  closed(handle: unknown, place: PathTemplate): void;
}

/** Visits the layers of a router and of its nested routers. */
export function walkRouter(
  layers: readonly LayerShape[],
  prefix: PathTemplate,
  visitor: RouterVisitor,
): void {
  // The routers on the path to the current router, because a router may contain itself.
  const above = new Set<readonly LayerShape[]>();
  let left = MAX_LAYERS;

  function walk(stack: readonly LayerShape[], at: PathTemplate): void {
    if (above.has(stack) || above.size > MAX_PLACES) return;
    above.add(stack);
    for (const layer of stack) {
      if (left-- <= 0) break;
      if (layer.route === undefined) mount(layer, at);
      else for (const path of alternatives(layer.route.path)) visitor.route(layer.route, routed(at, path));
    }
    above.delete(stack);
  }

  function mount(layer: LayerShape, at: PathTemplate): void {
    const behind = layersBehind(layer);
    for (const path of mountPathsOf(layer)) {
      const place = mounted(at, path);
      if (behind === undefined) visitor.closed(layer.handle, place);
      else walk(behind, place);
    }
  }

  walk(layers, prefix);
}

/**
 * Returns the prefixes under which an application is mounted. An application remembers only its last mount. Other mounts are
 * guessed from its parent's layers, which do not show which application they lead to.
 */
export function placesOf(app: AppShape): readonly PathTemplate[] {
  return placesWithin(app, 0);
}

function placesWithin({ parent, mountpath }: AppShape, depth: number): readonly PathTemplate[] {
  if (parent === undefined || depth > MAX_PLACES) return [ROOT];
  const layers = layersOf(parent).filter((layer) => layer.name === "mounted_app");
  const paths = [
    ...alternatives(mountpath),
    ...layers.flatMap(mountPathsOf).filter((path) => path !== undefined),
  ];
  const places = new Map<string, PathTemplate>();
  for (const prefix of placesWithin(parent, depth + 1)) {
    for (const path of paths) keepPlace(places, mounted(prefix, path));
  }
  return [...places.values()];
}

/** Returns the prefixes of an application's last mount, the only mount that is certain. */
export function lastPlacesOf({ parent, mountpath }: AppShape, depth = 0): readonly PathTemplate[] {
  if (parent === undefined || depth > MAX_PLACES) return [ROOT];
  const paths = alternatives(mountpath);
  return lastPlacesOf(parent, depth + 1)
    .flatMap((prefix) => paths.map((path) => mounted(prefix, path)))
    .slice(0, MAX_PLACES);
}

/** Adds a mount path to the map, under its text, unless the map already contains `MAX_PLACES` paths. */
export function keepPlace(places: Map<string, PathTemplate>, place: PathTemplate): void {
  if (places.size < MAX_PLACES && !places.has(place.text)) places.set(place.text, place);
}
