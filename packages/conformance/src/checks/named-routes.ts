import type { Kit } from "../kit.ts";
import type { NamedRoute } from "../openapi.ts";

/** The expected status of a refusal, and the documented methods of its path. */
export interface Expectation {
  readonly status: 401 | 404 | 405;
  readonly methods: ReadonlySet<string>;
}

/** A request that must be refused, for a route of `/openapi.json` or for one beside it. */
export interface NamedProbe {
  readonly what: string;
  readonly request: { readonly method: string; readonly path: string };
  readonly named: Expectation;
}

/** Methods whose refusals have a body. GET comes first, because it changes nothing. */
const probedMethods = ["GET", "PUT", "PATCH", "DELETE", "POST"];
/** The number of routes below which unknown paths are requested. */
const mostUnknown = 10;

/** Returns requests with an unsupported method, without a caller, and for unknown paths. */
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
      // Two segments deeper, because a route with a parameter matches any single one.
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
