import { METHODS } from "node:http";
import type { ResponseDescription, RouteDescription } from "./description.ts";
import { type PathPattern, pathPattern } from "./path-pattern.ts";
import { checkSchema, type Schema } from "./schema.ts";

const MEMBERS = [
  "method",
  "path",
  "request",
  "requestBodies",
  "responses",
  "errorBodies",
  "before",
  "security",
  "summary",
  "description",
  "tags",
  "examples",
  "operationId",
  "deprecated",
];

const PARTS = ["params", "query", "headers", "body"];
const RESPONSE_MEMBERS = ["description", "body", "contentType", "bodies", "headers", "example"];

const TYPES: readonly (readonly [
  string,
  (value: unknown) => boolean,
  readonly (keyof RouteDescription)[],
])[] = [
  ["an object", isObject, ["request", "requestBodies", "responses", "errorBodies", "examples"]],
  ["a list", Array.isArray, ["tags", "security"]],
  ["a string", (value) => typeof value === "string", ["summary", "description", "operationId"]],
  ["true or false", (value) => typeof value === "boolean", ["deprecated"]],
];

/**
 * Checks the description of a route, and compiles its path.
 *
 * @throws TypeError that names the first invalid member
 */
export function checkDescription(description: RouteDescription): PathPattern {
  checkMembers("route", description);
  const { method, path, request, before = [] } = description;
  if (typeof method !== "string" || !METHODS.includes(method.toUpperCase()))
    throw fault("route", `method must be an HTTP method such as GET; got ${JSON.stringify(method)}`);
  if (typeof path !== "string") throw fault("route", `path must be a string; got ${String(path)}`);
  const pattern = pathPattern(path);
  if (request?.params !== undefined && pattern.names.length === 0)
    throw fault("route", "request.params needs a parameter in path");
  if (![before].flat().every((each) => typeof each === "function"))
    throw fault("route", "before must be a middleware or a list of middleware");
  return pattern;
}

/**
 * Checks the members that do not depend on method and path.
 *
 * @param factory the name of the function that received the description
 * @throws TypeError that names the first invalid member
 */
export function checkMembers(factory: string, description: Partial<RouteDescription>): void {
  if (!isObject(description)) throw fault(factory, "the description must be an object");
  const { request = {}, responses = {}, examples = {} } = description;
  checkNames(factory, "", Object.keys(description), MEMBERS);
  for (const [expected, accepts, members] of TYPES) {
    const wrong = members.find(
      (member) => description[member] !== undefined && !accepts(description[member]),
    );
    if (wrong !== undefined) throw fault(factory, `${wrong} must be ${expected}`);
  }
  checkNames(factory, "request.", Object.keys(request), PARTS);
  checkNames(factory, "examples.", Object.keys(examples), PARTS);
  for (const [part, schema] of Object.entries(request)) {
    if (schema !== undefined) checkSchema(schema, `${factory}(): request.${part}`);
  }
  checkBodies(factory, "requestBodies", description.requestBodies);
  checkBodies(factory, "errorBodies", description.errorBodies);
  for (const [status, response] of Object.entries(responses)) {
    if (!/^[1-5]\d\d$/.test(status))
      throw fault(factory, `responses.${status} must be a status from 100 to 599`);
    if (typeof response !== "string") checkResponse(factory, `responses.${status}`, response);
  }
}

function checkResponse(factory: string, place: string, response: ResponseDescription): void {
  if (!isObject(response)) throw fault(factory, `${place} must be a string or an object`);
  checkNames(factory, `${place}.`, Object.keys(response), RESPONSE_MEMBERS);
  const { body, bodies, headers = {} } = response;
  if (body !== undefined) checkSchema(body, `${factory}(): ${place}.body`);
  checkBodies(factory, `${place}.bodies`, bodies);
  if (!isObject(headers)) throw fault(factory, `${place}.headers must be an object`);
  for (const [name, header] of Object.entries(headers)) {
    if (typeof header !== "string" && !isObject(header))
      throw fault(factory, `${place}.headers.${name} must be a string or an object`);
  }
}

/** Checks bodies by content type. */
function checkBodies(factory: string, member: string, bodies: Readonly<Record<string, Schema>> = {}): void {
  if (!isObject(bodies)) throw fault(factory, `${member} must be an object`);
  for (const [type, schema] of Object.entries(bodies)) {
    if (!/^[\w.+-]+\/[\w.+-]+$/.test(type))
      throw fault(
        factory,
        `${member} must be by content type, such as text/csv; got ${JSON.stringify(type)}`,
      );
    checkSchema(schema, `${factory}(): ${member} ${type}`);
  }
}

function checkNames(
  factory: string,
  place: string,
  names: readonly string[],
  known: readonly string[],
): void {
  const wrong = names.find((name) => !known.includes(name));
  if (wrong !== undefined)
    throw fault(factory, `${place}${wrong} is unknown; expected one of ${known.join(", ")}`);
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function fault(factory: string, message: string): TypeError {
  return new TypeError(`${factory}(): ${message}`);
}
