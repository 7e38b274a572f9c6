import { isSecretName } from "@svc/context";
import type { ValidationIssue } from "@svc/problem";
import type { SchemaIssue } from "./schema.ts";

/** The parts of a request that a description covers; also the first element of `loc` (ERR-16). */
export type Place = "path" | "query" | "header" | "body";

/** Maximum number of issues in one response. */
export const MAX_ISSUES = 50;

/** Maximum length of a message, in characters. */
const MAX_MESSAGE = 512;

/**
 * Converts the issues of a schema into those of a problem document. The type is `missing` for an absent
 * value, `unknown` for a member that a strict schema of zod does not have, and otherwise the code of the
 * library. Omits secret values.
 *
 * @param hasValues whether the library's messages quote values; if so, replaces those about objects, which may contain secrets
 */
export function issuesOf(
  place: Place,
  given: unknown,
  found: readonly SchemaIssue[],
  hasValues = false,
): ValidationIssue[] {
  const issues: ValidationIssue[] = [];
  for (const issue of found) {
    if (issues.length >= MAX_ISSUES) break;
    const path = pathOf(issue);
    if (issue.code === "unrecognized_keys" && Array.isArray(issue.keys)) {
      for (const key of issue.keys as readonly string[]) {
        if (issues.length < MAX_ISSUES)
          issues.push({ type: "unknown", loc: [place, ...path, key], msg: "is unknown" });
      }
      continue;
    }
    const input = valueAt(given, path);
    const isSecret = path.some((part) => typeof part === "string" && isSecretName(part));
    issues.push({
      type: input === undefined ? "missing" : typeOf(issue),
      loc: [place, ...path],
      msg: isSecret || (hasValues && isObject(input)) ? "is invalid" : issue.message.slice(0, MAX_MESSAGE),
      ...(isSecret || !isPlain(input) ? {} : { input }),
    });
  }
  return issues;
}

function pathOf({ path = [] }: SchemaIssue): readonly (string | number)[] {
  // A path may be a subclass of Array whose map() does not return an array.
  return Array.from(path, (part) => {
    const key = typeof part === "object" ? part.key : part;
    return typeof key === "number" ? key : String(key);
  });
}

function typeOf({ code, type }: SchemaIssue): string {
  return (
    ([code, type].find((each) => typeof each === "string" && each !== "") as string | undefined) ?? "invalid"
  );
}

function valueAt(given: unknown, path: readonly (string | number)[]): unknown {
  let value = given;
  for (const part of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Readonly<Record<string | number, unknown>>)[part];
  }
  return value;
}

/**
 * Returns whether a response may repeat a value. It never repeats objects and lists, which may contain a
 * secret.
 */
function isPlain(input: unknown): boolean {
  return input !== undefined && !isObject(input);
}

function isObject(input: unknown): boolean {
  return typeof input === "object" && input !== null;
}
