import { STATUS_CODES } from "node:http";
import type { Guard } from "@svc/context";
import { createComponents } from "./components.ts";
import type { ResponseDescription, RouteDescription } from "./description.ts";
import { parametersOf, sharedParameters } from "./parameters.ts";
import { impliedProblems, problemContent, problemSchemas } from "./problem-responses.ts";
import { defined, type Direction, type JsonSchema, type Schema } from "./schema.ts";
import { requiredBy, securityOf } from "./security.ts";

/** A document of OpenAPI 3.1. */
export interface OpenApiDocument {
  readonly openapi: "3.1.1";
  readonly info: Readonly<Record<string, unknown>>;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly [member: string]: unknown;
}

/** An operation of a document. */
export type Operation = Readonly<Record<string, unknown>>;

/** A route for {@link documentOf}. */
export interface DocumentedRoute {
  /** HTTP method in upper case. */
  readonly method: string;
  /** The path of the document: `/items/{id}`. */
  readonly template: string;
  readonly guards?: readonly Guard[] | undefined;
  readonly description?: Partial<RouteDescription> | undefined;
  /** Statuses of this route's problems. Replaces the statuses that every route can return. */
  readonly problems?: readonly number[] | undefined;
}

/** Properties of a service that do not follow from its routes. */
export interface DocumentOptions {
  readonly info: { readonly title: string; readonly version: string; readonly [member: string]: unknown };
  /** Default: the origin that serves the document. */
  readonly servers?: readonly { readonly url: string; readonly description?: string }[] | undefined;
  /** Descriptions of tags, by name. A tag without an entry has no description. */
  readonly tags?: Readonly<Record<string, string>> | undefined;
  /** The cookie that may contain the token instead of `Authorization`. Default: none. */
  readonly tokenCookie?: string | undefined;
  /** Statuses of problems that every route can return, such as 401. Default: none. */
  readonly problems?: readonly number[] | undefined;
  /** Routes without a template, for `x-unlisted`. Default: none. */
  readonly unlisted?: readonly string[] | undefined;
}

const JSON_TYPE = "application/json";

/**
 * Returns the document of a list of routes, sorted by path and method, so that the same routes give the same
 * bytes. If several routes have the same method and path, the first one applies, as in Express.
 */
export function documentOf(routes: readonly DocumentedRoute[], options: DocumentOptions): OpenApiDocument {
  const {
    info,
    servers = [{ url: "/" }],
    tags: described = {},
    tokenCookie,
    problems = [],
    unlisted = [],
  } = options;
  const components = createComponents(problemSchemas);
  const ids = new Set<string>();
  const paths = new Map<string, Map<string, Operation>>();
  for (const route of routes.toSorted(byPathAndMethod)) {
    const item = paths.get(route.template) ?? new Map<string, Operation>();
    paths.set(route.template, item);
    const method = route.method.toLowerCase();
    if (!item.has(method)) item.set(method, operationOf(route));
  }

  function operationOf(route: DocumentedRoute): Operation {
    const { description = {}, guards = [] } = route;
    const { summary = "", tags, deprecated } = description;
    const operationId = uniqueId(description.operationId ?? idOf(route));
    const parameters = parametersOf(route, components);
    return {
      operationId,
      summary,
      ...defined({ description: description.description, tags, deprecated }),
      security: description.security ?? securityOf(guards, tokenCookie),
      ...requiredBy(guards),
      ...(parameters.length > 0 ? { parameters } : {}),
      ...defined({ requestBody: requestBodyOf(description, operationId) }),
      responses: responsesOf(route, operationId),
    };
  }

  function requestBodyOf(
    { request, requestBodies, examples }: Partial<RouteDescription>,
    operationId: string,
  ): object | undefined {
    const bodies = { ...requestBodies, ...defined({ [JSON_TYPE]: request?.body }) } as Record<string, Schema>;
    const content = contentOf(bodies, "input", `${operationId}Body`);
    if (content === undefined) return undefined;
    const json = content[JSON_TYPE];
    if (json !== undefined) content[JSON_TYPE] = { ...json, ...defined({ example: examples?.body }) };
    return { required: true, content };
  }

  /** Returns the content of bodies by content type; undefined without bodies. */
  function contentOf(
    bodies: Readonly<Record<string, Schema>>,
    direction: Direction,
    hint: string,
  ): Record<string, object> | undefined {
    const types = Object.keys(bodies).toSorted();
    if (types.length === 0) return undefined;
    return Object.fromEntries(
      types.map((type) => [type, { schema: components.add(bodies[type] as Schema, direction, hint) }]),
    );
  }

  function responsesOf(
    { template, guards = [], description = {}, problems: everywhere = problems }: DocumentedRoute,
    operationId: string,
  ): object {
    const { responses = {}, request, errorBodies = {} } = description;
    const implied = impliedProblems(template, guards, request, everywhere);
    const own = Object.entries(responses).map(([status, each]) => [Number(status), each] as const);
    const all = new Map<number, ResponseDescription | string>([...implied, ...own]);
    if (own.length === 0) all.set(200, "");
    return Object.fromEntries(
      [...all]
        .toSorted(([a], [b]) => a - b)
        .map(([status, each]) => [
          String(status),
          responseOf(status, each, `${operationId}${status}`, status >= 400 ? errorBodies : {}),
        ]),
    );
  }

  function responseOf(
    status: number,
    given: ResponseDescription | string,
    hint: string,
    more: Readonly<Record<string, Schema>>,
  ): object {
    const {
      description,
      body,
      bodies,
      contentType,
      headers = {},
      example,
    } = typeof given === "string" ? ({ description: given } as ResponseDescription) : given;
    const own =
      body === undefined
        ? status >= 400
          ? problemContent(status)
          : undefined
        : {
            [contentType ?? JSON_TYPE]: {
              schema: components.add(body, "output", hint),
              ...defined({ example }),
            },
          };
    const others = contentOf({ ...more, ...bodies }, "output", hint);
    const content = others === undefined ? own : { ...own, ...others };
    return {
      description:
        description === undefined || description === "" ? (STATUS_CODES[status] ?? "Response") : description,
      headers: { "X-Request-ID": { $ref: "#/components/headers/RequestId" }, ...headersOf(headers) },
      ...defined({ content }),
    };
  }

  function uniqueId(wanted: string): string {
    let id = wanted;
    for (let count = 2; ids.has(id); count++) id = `${wanted}${count}`;
    ids.add(id);
    return id;
  }

  const tags = [...new Set(routes.flatMap(({ description }) => description?.tags ?? []))].toSorted();
  const tagOf = (name: string): object => ({
    name,
    ...(Object.hasOwn(described, name) ? { description: described[name] } : {}),
  });
  const listed = [...paths].map(([path, item]) => [path, Object.fromEntries(item)] as const);
  return {
    openapi: "3.1.1",
    info,
    servers,
    ...(tags.length > 0 ? { tags: tags.map(tagOf) } : {}),
    paths: Object.fromEntries(listed),
    components: {
      headers: {
        RequestId: { description: "The id of the request, as in its log lines.", schema: { type: "string" } },
      },
      parameters: sharedParameters,
      schemas: components.all(),
      securitySchemes: {
        bearerAuth: { type: "http", scheme: "bearer", bearerFormat: "JWT" },
        ...(tokenCookie === undefined
          ? {}
          : { cookieAuth: { type: "apiKey", in: "cookie", name: tokenCookie } }),
      },
    },
    ...(unlisted.length > 0 ? { "x-unlisted": unlisted.toSorted() } : {}),
  };
}

function headersOf(headers: Readonly<Record<string, string | JsonSchema>>): Record<string, object> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, each]) => [
      name,
      typeof each === "string" ? { description: each, schema: { type: "string" } } : { schema: each },
    ]),
  );
}

/** Returns an operation id, for example `getExpensesById`. */
function idOf({ method, template }: DocumentedRoute): string {
  const words = template
    .split("/")
    .filter((segment) => segment !== "")
    .map((segment) => segment.replace(/^\{(\w+)\}$/, "by_$1"))
    .flatMap((segment) => segment.split(/[^A-Za-z0-9]+/))
    .filter((word) => word !== "");
  const name = words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join("");
  return method.toLowerCase() + (name === "" ? "Root" : name);
}

function byPathAndMethod(a: DocumentedRoute, b: DocumentedRoute): number {
  if (a.template !== b.template) return a.template < b.template ? -1 : 1;
  return a.method === b.method ? 0 : a.method < b.method ? -1 : 1;
}
