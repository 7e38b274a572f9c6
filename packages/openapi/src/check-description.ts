import { METHODS } from "node:http";
import type { RouteDescription } from "./description.ts";
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

/**
 * Checks the description of a route.
 *
 * @param names the parameters of the path
 * @throws TypeError that names the first invalid member
 */
export function checkDescription(description: RouteDescription, names: readonly string[]): void {
  const { method, request, before = [] } = description;
  if (typeof method !== "string" || !METHODS.includes(method.toUpperCase()))
    throw fault("route", `method must be an HTTP method such as GET; got ${JSON.stringify(method)}`);
  if (request?.params !== undefined && names.length === 0)
    throw fault("route", "request.params needs a parameter in path");
  if (![before].flat().every((each) => typeof each === "function"))
    throw fault("route", "before must be a middleware or a list of middleware");
  checkMembers("route", description);
}

/**
 * Checks the members that do not depend on method and path.
 *
 * @param factory the name of the function that received the description
 * @throws TypeError that names the first invalid member
 */
export function checkMembers(factory: string, description: Partial<RouteDescription>): void {
  const { request = {}, responses = {}, examples = {} } = description;
  checkNames(factory, "", Object.keys(description), MEMBERS);
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
    if (typeof response === "string") continue;
    if (response.body !== undefined) checkSchema(response.body, `${factory}(): responses.${status}.body`);
    checkBodies(factory, `responses.${status}.bodies`, response.bodies);
  }
}

/** Checks bodies by content type. */
function checkBodies(
  factory: string,
  member: string,
  bodies: Readonly<Record<string, Schema>> | undefined,
): void {
  for (const [type, schema] of Object.entries(bodies ?? {})) {
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

function fault(factory: string, message: string): TypeError {
  return new TypeError(`${factory}(): ${message}`);
}
