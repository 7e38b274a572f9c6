import type { Guard } from "@svc/context";
import { PROBLEM_TYPE, statusPhrase } from "@svc/problem";
import type { JsonSchema } from "./schema.ts";
import type { RequestSchemas } from "./validate.ts";

const text = { type: "string" } as const;

/** The schemas of error bodies (ERR-2, ERR-15, ERR-16). */
export const problemSchemas: Readonly<Record<string, JsonSchema>> = {
  Problem: {
    type: "object",
    description: "A problem document (RFC 9457).",
    required: ["type", "title", "status", "detail", "instance", "request_id"],
    properties: {
      type: text,
      title: text,
      status: { type: "integer", minimum: 400, maximum: 599 },
      detail: text,
      instance: text,
      request_id: text,
    },
  },
  ValidationProblem: {
    description: "A problem document that lists the faults of a request.",
    allOf: [
      { $ref: "#/components/schemas/Problem" },
      {
        type: "object",
        required: ["errors"],
        properties: {
          errors: {
            type: "array",
            items: {
              type: "object",
              required: ["type", "loc", "msg"],
              properties: {
                type: text,
                loc: { type: "array", items: { type: ["string", "integer"] } },
                msg: text,
                input: {},
              },
            },
          },
        },
      },
    ],
  },
};

/** Returns the content of an error response. */
export function problemContent(status: number): Readonly<Record<string, unknown>> {
  const name = status === 422 ? "ValidationProblem" : "Problem";
  return { [PROBLEM_TYPE]: { schema: { $ref: `#/components/schemas/${name}` } } };
}

/**
 * Returns the problem responses of a route, by status: those of its guards, of the validation and of its
 * limits.
 *
 * @param everywhere statuses that every route can return
 */
export function impliedProblems(
  path: string,
  guards: readonly Guard[],
  schemas: RequestSchemas | undefined,
  everywhere: readonly number[],
): ReadonlyMap<number, string> {
  const implied = new Map<number, string>();
  const add = (status: number, description = statusPhrase(status)): void => {
    const before = implied.get(status);
    const phrase = statusPhrase(status);
    if (before === undefined || before === phrase) implied.set(status, description);
    else if (description !== phrase && !before.includes(description))
      implied.set(status, `${before}; ${description}`);
  };
  for (const status of everywhere) add(status);
  for (const { kind, values } of guards) {
    const list = values.join(", ");
    if (["auth", "scopes", "roles", "tenant"].includes(kind)) add(401);
    if (kind === "scopes") add(403, `requires the scopes ${list}`);
    if (kind === "roles") add(403, `requires one of the roles ${list}`);
    if (kind === "tenant") add(403, "requires a tenant");
    if (kind === "content-type") add(415, `accepts ${list}`);
    if (kind === "rate-limit") add(429);
  }
  if (path.includes("{")) add(400);
  if (schemas !== undefined && Object.values(schemas).some((schema) => schema !== undefined)) add(422);
  if (schemas?.body !== undefined) for (const status of [400, 413, 415]) add(status);
  for (const status of [500, 504]) add(status);
  return implied;
}
