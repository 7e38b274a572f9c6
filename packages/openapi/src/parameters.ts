import type { Guard } from "@svc/context";
import type { Components } from "./components.ts";
import type { RouteDescription } from "./description.ts";
import { defined, type JsonSchema } from "./schema.ts";

/** The parameters that many operations share, by the name of their component. */
export const sharedParameters = {
  RequestId: {
    name: "X-Request-ID",
    in: "header",
    description:
      "An id of at most 128 characters for the log lines of the service, which ignores any other text.",
    schema: { type: "string" },
  },
  Tenant: {
    name: "X-Tenant-ID",
    in: "header",
    description: "The tenant of the request; must be one that the caller belongs to.",
    schema: { type: "string" },
  },
} as const;

/** The parts of a route that determine its parameters. */
interface Route {
  readonly template: string;
  readonly guards?: readonly Guard[] | undefined;
  readonly description?: Partial<RouteDescription> | undefined;
}

/** Returns the parameters of an operation: those of its path, query and headers, and the shared ones. */
export function parametersOf(
  { template, description = {}, guards = [] }: Route,
  components: Components,
): object[] {
  const { request = {}, examples = {} } = description;
  const inPath = new Set([...template.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? ""));
  const params = request.params && components.shapeOf(request.params);
  const path = [...inPath].map((name) => {
    const schema = params?.properties.get(name) ?? params?.additional ?? { type: "string" };
    return parameter("path", name, schema, true, examples.params?.[name]);
  });
  const named = (["query", "headers"] as const).flatMap((part) => {
    const given = request[part];
    if (given === undefined) return [];
    const { properties, required } = components.shapeOf(given);
    return [...properties].map(([name, each]) =>
      parameter(
        part === "query" ? "query" : "header",
        name,
        each,
        required.has(name),
        examples[part]?.[name],
      ),
    );
  });
  const isTenants = guards.some(({ kind }) => kind === "tenant" || kind === "requested_tenant");
  const shared = isTenants ? ["RequestId", "Tenant"] : ["RequestId"];
  return [...path, ...named, ...shared.map((name) => ({ $ref: `#/components/parameters/${name}` }))];
}

function parameter(
  place: string,
  name: string,
  schema: JsonSchema,
  required: boolean,
  example: unknown,
): object {
  const { description, ...own } = schema;
  return {
    name,
    in: place,
    ...(required ? { required } : {}),
    ...defined({ description, example }),
    schema: own,
  };
}
