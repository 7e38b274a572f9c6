import { isObject } from "./answer.ts";
import { grant } from "./grant.ts";
import { NoAnswer } from "./http-client.ts";
import type { Kit } from "./kit.ts";

/** A route that `/openapi.json` names. */
export interface NamedRoute {
  readonly method: string;
  /** The path with its parameters filled in. */
  readonly path: string;
  /** Every method that the document names for this path, also through other templates that match it. */
  readonly methods: ReadonlySet<string>;
  /** Whether the document asks for credentials. */
  readonly isGuarded: boolean;
}

/** A longer document is probed in part. */
export const mostRoutes = 50;

const methodNames = ["get", "put", "post", "delete", "patch", "head", "options", "trace"];

/** The first routes of `/openapi.json`; none where there is no such document or it cannot be read. */
export function findRoutes(kit: Kit): Promise<readonly NamedRoute[]> {
  return kit.once("openapi", async () => {
    try {
      const { ok, object } = await kit.get("/openapi.json", { token: grant(kit) });
      return ok && object !== undefined ? routesIn(object, kit) : [];
    } catch (error) {
      if (error instanceof NoAnswer) return [];
      throw error;
    }
  });
}

type Unknowns = Readonly<Record<string, unknown>>;

function routesIn(document: Unknowns, kit: Kit): readonly NamedRoute[] {
  const paths = isObject(document["paths"]) ? Object.entries(document["paths"]) : [];
  const prefix = prefixOf(document["servers"], kit.settings.url);
  const found = paths.flatMap(([template, item]) => {
    if (!isObject(item) || !/^\/[\x21-\x7e]*$/.test(template)) return [];
    const path = `${prefix}${filled(template, item, () => kit.unique())}`;
    return methodNames.flatMap((name) => {
      const operation = item[name];
      if (!isObject(operation)) return [];
      const isGuarded = asksForCredentials(operation["security"] ?? document["security"]);
      return [{ method: name.toUpperCase(), template: `${prefix}${template}`, path, isGuarded }];
    });
  });
  return found.slice(0, mostRoutes).map(({ method, path, isGuarded }) => ({
    method,
    path,
    isGuarded,
    methods: new Set(found.filter(({ template }) => matches(template, path)).map(({ method }) => method)),
  }));
}

/** What the first server puts in front of every path, beyond the base URL of the service under test. */
function prefixOf(servers: unknown, base: URL): string {
  const first: unknown = Array.isArray(servers) ? servers[0] : undefined;
  const url = isObject(first) && typeof first["url"] === "string" ? URL.parse(first["url"], base.href) : null;
  const own = base.pathname.replace(/\/$/, "");
  const path = (url?.pathname ?? "").replace(/\/$/, "");
  return path === own || path.startsWith(`${own}/`) ? path.slice(own.length) : path;
}

/** An empty list, and an empty requirement in a list, let everybody in. */
function asksForCredentials(security: unknown): boolean {
  return (
    Array.isArray(security) &&
    security.length > 0 &&
    security.every((each) => isObject(each) && Object.keys(each).length > 0)
  );
}

/** A path with values that no resource has, of the form that the document asks for. */
function filled(template: string, item: Unknowns, unique: () => string): string {
  return template.replaceAll(/\{([^{}]*)\}/g, (_all, name: string) => {
    const schema = schemaOf(name, item);
    const allowed: unknown = Array.isArray(schema["enum"]) ? schema["enum"][0] : undefined;
    if (typeof allowed === "string" || typeof allowed === "number") return encodeURIComponent(allowed);
    if (schema["type"] === "integer" || schema["type"] === "number") return "987654321";
    return schema["format"] === "uuid" ? crypto.randomUUID() : unique();
  });
}

/** The schema of a parameter, as far as it stands in the path item or in its first operation that has it. */
function schemaOf(name: string, item: Unknowns): Unknowns {
  const operations = methodNames.map((method) => item[method]).filter(isObject);
  const lists = [item, ...operations].map((each) => each["parameters"]);
  const parameters = lists.flatMap((list) => (Array.isArray(list) ? list.filter(isObject) : []));
  const schema = parameters.find((each) => each["in"] === "path" && each["name"] === name)?.["schema"];
  return isObject(schema) ? schema : {};
}

function matches(template: string, path: string): boolean {
  const [expected, given] = [template.split("/"), path.split("/")];
  return (
    expected.length === given.length &&
    expected.every((segment, index) => segment.includes("{") || segment === given[index])
  );
}
