import { cleanText } from "./clean-text.ts";
import { type Description, isRecord } from "./description.ts";
import { LoadTestError } from "./errors.ts";
import { fillRoute, type Operation } from "./fill-route.ts";
import type { Settings } from "./options.ts";
import { resolve } from "./references.ts";
import type { Skipped } from "./report.ts";

/** A request that the generator sends repeatedly. */
export interface PlannedRequest {
  /** For example `GET /expenses/{id}`. */
  readonly route: string;
  readonly method: string;
  /** Path and query, with the path of the base URL. */
  readonly path: string;
  /** Headers of this route alone, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** The requests of a run, and the omitted routes. */
export interface Plan {
  readonly requests: readonly PlannedRequest[];
  readonly skipped: readonly Skipped[];
}

/** Paths of the framework, as whole segments. */
const frameworkPaths = "/health /ready /info /metrics /openapi.json /docs /auth /debug /queue".split(" ");

/**
 * Chooses and fills the routes to load (LOAD-1, LOAD-2).
 *
 * @param description undefined if literal paths are loaded without one
 * @throws LoadTestError ERR_SVC_LOAD_TEST_ROUTES if no route is left
 */
export function planRun(description: Description | undefined, settings: Settings): Plan {
  const operations = description === undefined ? [] : operationsOf(description);
  const { routes, methods, includeFramework } = settings;
  const requests: PlannedRequest[] = [];
  const skipped: Skipped[] = [];
  const fill = (operation: Operation, literal?: string): void => {
    const { method, template } = operation;
    const route = `${method} ${cleanText(literal ?? template, settings.token)}`;
    const filled = fillRoute(description ?? {}, operation, new Set(Object.keys(settings.headers)));
    if ("reason" in filled) skipped.push({ route, reason: cleanText(filled.reason, settings.token) });
    else requests.push({ route, method, ...filled, path: settings.prefix + (literal ?? filled.path) });
  };
  for (const operation of routes.length === 0 ? operations : []) {
    if (methods.includes(operation.method) && (includeFramework || !isFramework(operation.template)))
      fill(operation);
  }
  for (const route of routes) {
    const known = operations.filter(({ template }) => template === route);
    for (const method of methods) {
      const operation = known.find((each) => each.method === method);
      if (operation !== undefined) fill(operation);
      else if (known.length === 0) fillLiteral(route, method);
    }
    if (known.length > 0 && !known.some(({ method }) => methods.includes(method)))
      skipped.push({ route, reason: `the description has no ${methods.join(" or ")} for it` });
  }

  function fillLiteral(path: string, method: string): void {
    const route = `${method} ${cleanText(path, settings.token)}`;
    const template = operations.find((each) => each.method === method && matches(each.template, path));
    if (/[{}]/.test(path)) skipped.push({ route, reason: "the description has no such route" });
    else if (method === "GET") fill({ method, template: path, pathItem: {}, operation: {} }, path);
    else if (template === undefined) skipped.push({ route, reason: "the description has no body for it" });
    // The parameters are part of the literal path.
    else fill({ ...template, template: path, pathItem: {}, operation: bodyAlone(template.operation) }, path);
  }

  if (requests.length === 0) throw noRoute(skipped, methods);
  return { requests, skipped };
}

/** Returns whether every route of a run is a literal path that is only read, which needs no description. */
export function needsNoDescription({ routes, methods }: Settings): boolean {
  return routes.length > 0 && methods.join() === "GET" && !routes.some((route) => /[{}]/.test(route));
}

function operationsOf(description: Description): readonly Operation[] {
  const { paths } = description;
  return Object.entries(isRecord(paths) ? paths : {}).flatMap(([template, item]) => {
    const pathItem = resolve(description, item);
    if (pathItem === undefined || !template.startsWith("/")) return [];
    return ["GET", "POST", "PUT", "PATCH"].flatMap((method) => {
      const operation = resolve(description, pathItem[method.toLowerCase()]);
      return operation === undefined ? [] : [{ method, template, pathItem, operation }];
    });
  });
}

function isFramework(template: string): boolean {
  return frameworkPaths.some((path) => template === path || template.startsWith(`${path}/`));
}

/** Returns whether a literal path matches a template. */
function matches(template: string, literal: string): boolean {
  const parts = template.split("/");
  const given = (literal.split("?")[0] ?? "").split("/");
  return parts.length === given.length && parts.every((part, at) => part.includes("{") || part === given[at]);
}

function bodyAlone({ requestBody }: Description): Description {
  return { requestBody };
}

function noRoute(skipped: readonly Skipped[], methods: readonly string[]): LoadTestError {
  const reasons = skipped.map(({ route, reason }) => `${route}: ${reason}`);
  const none = `the description has no route with ${methods.join(" or ")}; give --route`;
  const message = `no route can be loaded: ${reasons.length === 0 ? none : reasons.slice(0, 20).join("; ")}`;
  return new LoadTestError("ERR_SVC_LOAD_TEST_ROUTES", message);
}
