import type { Kit } from "../kit.ts";
import type { NamedRoute } from "../openapi.ts";
import type { Expectation } from "./samples.ts";

/** A request for a route that `/openapi.json` names, or for one beside it, that has to be refused. */
export interface NamedProbe {
  readonly what: string;
  readonly request: { readonly method: string; readonly path: string };
  readonly named: Expectation;
}

/** Methods whose refusals have a body. The one that changes nothing goes first where the document does not name it. */
const probedMethods = ["GET", "PUT", "PATCH", "DELETE", "POST"];
/** Unknown paths are asked for below so many routes. */
const mostUnknown = 10;

/** Requests with a method that a path does not have, without a caller, and for paths that no route has. */
export function probesOf(kit: Kit, routes: readonly NamedRoute[]): readonly NamedProbe[] {
  const byPath = [...new Map(routes.map((route) => [route.path, route])).values()];
  const byMethod = byPath.flatMap(({ path, methods }) => {
    const method = probedMethods.find((each) => !methods.has(each));
    return method === undefined ? [] : [probe(method, path, { status: 405, methods })];
  });
  const guarded = kit.has("auth")
    ? routes.filter(({ isGuarded, method }) => isGuarded && probedMethods.includes(method))
    : [];
  return [
    ...byMethod,
    ...guarded.map(({ method, path, methods }) =>
      probe(method, path, { status: 401, methods }, "without a caller"),
    ),
    ...byPath.slice(0, mostUnknown).map(({ path }) =>
      // Deeper by more than a segment, since a route with a parameter takes any one.
      probe("GET", `${path.replace(/\/$/, "")}/${kit.unique()}/${kit.unique()}/x`, {
        status: 404,
        methods: new Set(),
      }),
    ),
  ];
}

const notNamed = "which /openapi.json does not name";

function probe(method: string, path: string, named: Expectation, how: string = notNamed): NamedProbe {
  return { what: `${method} ${path}${how === notNamed ? "," : ""} ${how}`, request: { method, path }, named };
}
