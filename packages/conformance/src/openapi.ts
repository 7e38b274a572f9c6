import { type Answer, isObject, type JsonObject, NoAnswer, orReason } from "./answer.ts";
import { grant } from "./grant.ts";
import type { Kit } from "./kit.ts";

/** A route in `/openapi.json`. */
export interface NamedRoute {
  readonly method: string;
  /** The path with its parameters filled in. */
  readonly path: string;
  /** Every documented method of this path, including methods of other matching templates. */
  readonly methods: ReadonlySet<string>;
  /** Whether the document requires a token for this route. */
  readonly isGuarded: boolean;
}

/** Maximum number of routes that are probed. */
export const mostRoutes = 50;

const methodNames = ["get", "put", "post", "delete", "patch", "head", "options", "trace"];

/** Returns the first routes of `/openapi.json`; an empty list for a missing or unreadable document. */
export function findRoutes(kit: Kit): Promise<readonly NamedRoute[]> {
  return kit.once("openapi", async () => {
    const routes = await orReason(readRoutes(kit));
    return routes instanceof NoAnswer ? [] : routes;
  });
}

/** Requests `/openapi.json` once. */
export function documentAnswer(kit: Kit): Promise<Answer> {
  return kit.once("openapi document", () => kit.get("/openapi.json", { token: grant(kit) }));
}

/** Returns whether the document lists a method of a path, which may contain placeholders. */
export async function isListed(
  kit: Kit,
  document: JsonObject,
  method: string,
  path: string,
): Promise<boolean> {
  const prefix = (await prefixOf(kit, document)) ?? "";
  const [plain = ""] = path.split("?", 1);
  return pathsIn(document).some(
    ([template, item]) => isObject(item[method.toLowerCase()]) && matches(`${prefix}${template}`, plain),
  );
}

async function readRoutes(kit: Kit): Promise<readonly NamedRoute[]> {
  const { ok, object } = await documentAnswer(kit);
  if (!ok || object === undefined) return [];
  const prefix = await prefixOf(kit, object);
  return prefix === undefined ? [] : routesIn(object, prefix, kit);
}

function pathsIn(document: JsonObject): readonly (readonly [template: string, item: JsonObject])[] {
  const paths = isObject(document["paths"]) ? Object.entries(document["paths"]) : [];
  return paths.flatMap(([template, item]) =>
    isObject(item) && /^\/[\x21-\x7e]*$/.test(template) ? [[template, item]] : [],
  );
}

function routesIn(document: JsonObject, prefix: string, kit: Kit): readonly NamedRoute[] {
  const found = pathsIn(document).flatMap(([template, item]) => {
    const path = `${prefix}${filled(template, item, () => kit.unique())}`;
    return methodNames.flatMap((name) => {
      const operation = item[name];
      if (!isObject(operation)) return [];
      const isGuarded = asksForToken(operation["security"] ?? document["security"], document);
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

/**
 * Returns the path prefix of the document's first server, relative to the base URL. A server with another origin may be
 * a gateway that removes its own path, so the kit requests one route to find out whether the prefix applies. Returns
 * undefined if there is no route to request.
 */
async function prefixOf(kit: Kit, document: JsonObject): Promise<string | undefined> {
  const base = kit.settings.url;
  const first: unknown = Array.isArray(document["servers"]) ? document["servers"][0] : undefined;
  const url = isObject(first) && typeof first["url"] === "string" ? URL.parse(first["url"], base.href) : null;
  const own = base.pathname.replace(/\/$/, "");
  const path = (url?.pathname ?? "").replace(/\/$/, "");
  const prefix = path === own || path.startsWith(`${own}/`) ? path.slice(own.length) : path;
  if (prefix === "" || url === null || url.origin === base.origin) return prefix;
  const plain = pathsIn(document).find(
    ([template, item]) => !template.includes("{") && isObject(item["get"]),
  )?.[0];
  if (plain === undefined) return undefined;
  const { status } = await kit.get(`${prefix}${plain}`, { token: grant(kit) });
  return status === 404 ? "" : prefix;
}

/**
 * Whether a route's security requirements demand a token from every caller: a bearer token, perhaps with a cookie as an
 * alternative. An empty list or an empty requirement allows any caller. The contract does not cover other API keys and Basic
 * authentication.
 */
function asksForToken(security: unknown, { components }: JsonObject): boolean {
  const schemes = isObject(components) ? components["securitySchemes"] : undefined;
  const schemeOf = (name: string): JsonObject => {
    const found: unknown = isObject(schemes) ? schemes[name] : undefined;
    return isObject(found) ? found : {};
  };
  const isBearer = (name: string): boolean => {
    const { type, scheme = "" } = schemeOf(name);
    return type === "http" ? /^bearer$/i.test(String(scheme)) : type !== "apiKey" && type !== "mutualTLS";
  };
  const isToken = (name: string): boolean => isBearer(name) || schemeOf(name)["in"] === "cookie";
  if (!Array.isArray(security)) return false;
  const alternatives = security.map((each) => (isObject(each) ? Object.keys(each) : []));
  return (
    alternatives.some((names) => names.some(isBearer)) && alternatives.every((names) => names.some(isToken))
  );
}

/** Fills path parameters with values of the documented format that match no resource. */
function filled(template: string, item: JsonObject, unique: () => string): string {
  return template.replaceAll(/\{([^{}]*)\}/g, (_all, name: string) => {
    const schema = schemaOf(name, item);
    const allowed: unknown = Array.isArray(schema["enum"]) ? schema["enum"][0] : undefined;
    if (typeof allowed === "string" || typeof allowed === "number") return encodeURIComponent(allowed);
    if (schema["type"] === "integer" || schema["type"] === "number") return "987654321";
    return schema["format"] === "uuid" ? crypto.randomUUID() : unique();
  });
}

/** Returns the schema of a parameter from the path item, or from the first operation that declares it. */
function schemaOf(name: string, item: JsonObject): JsonObject {
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
