import { type Description, isRecord } from "./description.ts";
import { bodyExample, parameterValue } from "./examples.ts";
import { isHeaderName, ownHeaders } from "./headers.ts";
import { resolve } from "./references.ts";

/** A request built from the values in the OpenAPI description, or the reason why it cannot be built. */
export type Filled =
  | {
      /** Path and query. */
      readonly path: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string | undefined;
    }
  | { readonly reason: string };

/** Header parameters that OpenAPI ignores, because other parts of a description define them. */
const ignoredHeaders = new Set(["accept", "authorization", "content-type"]);

/** An operation of the description. */
export interface Operation {
  readonly method: string;
  /** For example `/expenses/{id}`. */
  readonly template: string;
  readonly pathItem: Description;
  readonly operation: Description;
}

/**
 * Fills the parameters and the body of an operation. Omits optional query parameters and headers.
 *
 * @param given names of headers that every request has, in lower case
 */
export function fillRoute(
  description: Description,
  { method, template, pathItem, operation }: Operation,
  given: ReadonlySet<string>,
): Filled {
  const parameters = parametersOf(description, pathItem, operation);
  let path = template;
  const query: string[] = [];
  const headers: Record<string, string> = {};
  for (const name of template.matchAll(/\{([^{}]*)\}/g)) {
    if (!parameters.some((each) => each["in"] === "path" && each["name"] === name[1]))
      return { reason: `path parameter ${name[1]} is not described` };
  }
  for (const parameter of parameters) {
    const { in: place, name, required } = parameter;
    if (typeof name !== "string" || (place !== "path" && required !== true)) continue;
    if (place === "header" && (ignoredHeaders.has(name.toLowerCase()) || given.has(name.toLowerCase())))
      continue;
    if (place === "cookie") {
      if (given.has("cookie")) continue;
      return { reason: `cookie ${name} is required; give it with -H` };
    }
    const problem = place === "header" ? problemOfHeader(name) : undefined;
    if (problem !== undefined) return { reason: `header ${name} is required, but ${problem}` };
    const value = parameterValue(description, parameter);
    const values = (Array.isArray(value) ? (value as unknown[]) : [value]).map(textOf);
    if (!values.every((each) => each !== undefined) || values.join("") === "")
      return { reason: `${String(place)} parameter ${name} has no example, default or enum` };
    if (place === "path") path = path.replaceAll(`{${name}}`, values.map(encoded).join(","));
    else if (place === "query") query.push(queryOf(name, values, parameter["explode"] !== false));
    else if (/^[\t\x20-\x7e]*$/.test(values.join(","))) headers[name.toLowerCase()] = values.join(",");
    else return { reason: `the example of header ${name} is not ASCII` };
  }
  const body = method === "GET" ? { text: undefined } : bodyOf(description, operation);
  if ("reason" in body) return body;
  if (body.type !== undefined) headers["content-type"] = body.type;
  const target = query.length === 0 ? path : `${path}?${query.join("&")}`;
  if (!/^[\x21-\x7e]+$/.test(target)) return { reason: "the path has characters that a URL does not allow" };
  return { path: target, headers, body: body.text };
}

/** Returns the parameters of an operation, which replace those of its path with the same name and location. */
function parametersOf(
  description: Description,
  pathItem: Description,
  operation: Description,
): readonly Description[] {
  const all = new Map<string, Description>();
  for (const { parameters } of [pathItem, operation]) {
    for (const each of Array.isArray(parameters) ? (parameters as unknown[]) : []) {
      const parameter = resolve(description, each);
      if (parameter === undefined) continue;
      const { in: place, name } = parameter;
      if (typeof place === "string" && typeof name === "string")
        all.set(JSON.stringify([place, name]), parameter);
    }
  }
  return [...all.values()];
}

/** Returns why no request can have a header; undefined if one can. */
function problemOfHeader(name: string): string | undefined {
  if (!isHeaderName(name)) return "its name is invalid";
  // The HTTP client refuses these headers, and then sends no request at all.
  return ownHeaders.has(name.toLowerCase()) ? "only the connection can set it" : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : undefined;
}

function queryOf(name: string, values: readonly string[], isExploded: boolean): string {
  const key = encoded(name);
  const texts = values.map(encoded);
  return isExploded ? texts.map((each) => `${key}=${each}`).join("&") : `${key}=${texts.join(",")}`;
}

interface Body {
  readonly text: string | undefined;
  readonly type?: string;
}

/** Returns the example of the request body in the first media type that has one, or the reason why there is none. */
function bodyOf(description: Description, operation: Description): Body | { readonly reason: string } {
  const content = resolve(description, operation["requestBody"])?.["content"];
  for (const [type, media] of isRecord(content) ? Object.entries(content) : []) {
    const resolved = resolve(description, media);
    const example = resolved === undefined ? undefined : bodyExample(description, resolved);
    if (example === undefined) continue;
    try {
      const text = bodyText(type, example);
      if (text !== undefined) return { text, type };
    } catch {
      // It is nested too deeply, or the form has a member that is no text.
      return { reason: "the example of the request body cannot be written" };
    }
  }
  return { reason: "the request body has no example" };
}

/** Returns an example in a media type; undefined if the type is not supported. */
function bodyText(type: string, example: unknown): string | undefined {
  if (/^[\w.+-]+\/(?:[\w.+-]+\+)?json\b/i.test(type)) return JSON.stringify(example);
  if (/^application\/x-www-form-urlencoded\b/i.test(type) && isRecord(example)) {
    const pairs = Object.entries(example).map(([name, value]) => [name, String(value)]);
    return new URLSearchParams(Object.fromEntries(pairs) as Record<string, string>).toString();
  }
  return /^text\//i.test(type) && typeof example === "string" ? example : undefined;
}

/** Encodes a string for a URL. Replaces lone surrogates, which a description may contain and which cannot be encoded. */
function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
