import type { IncomingMessage } from "node:http";
import type { Kind } from "@svc/options";
import type { ProblemError } from "@svc/problem";
import { essenceOf } from "./content-type.ts";
import { unsupported } from "./faults.ts";

const PATTERN = /^[a-z0-9!#$&^_.-]+\/(?:\*|(?:\*\+)?[a-z0-9!#$&^_.+-]+)$/;

/** The text after "must be " in the error for an invalid list of media types. */
export const MEDIA_TYPES_EXPECTED = "at least one media type in lower case, such as application/json";

/** Returns whether a value is a media type in lower case without parameters, or a range of them. */
export function isMediaType(value: unknown): value is string {
  return typeof value === "string" && PATTERN.test(value);
}

/** A kind for lists of media types and ranges. */
export const mediaTypes: Kind<readonly string[]> = {
  expects: `a list of ${MEDIA_TYPES_EXPECTED}`,
  accepts: (value): value is readonly string[] =>
    Array.isArray(value) && value.length > 0 && Array.from(value).every(isMediaType),
};

/** Returns a function that decides whether a content type is in a list of media types and ranges. */
export function matcherOf(types: readonly string[]): (contentType: string | undefined) => boolean {
  const exact: ReadonlySet<string> = new Set(types);
  const ranges = types.filter((type) => type.includes("*")).map(rangeOf);
  return (contentType) => {
    const essence = essenceOf(contentType);
    return exact.has(essence) || ranges.some((range) => range(essence));
  };
}

function rangeOf(type: string): (essence: string) => boolean {
  const star = type.indexOf("*");
  const [start, end] = [type.slice(0, star), type.slice(star + 1)];
  return (essence) =>
    essence.length > start.length + end.length && essence.startsWith(start) && essence.endsWith(end);
}

/** Returns a 415 that names the accepted types in its detail and in the `Accept` header (ERR-18). */
export function wrongType(req: IncomingMessage, types: readonly string[]): ProblemError {
  const list = types.join(", ");
  const detail = `the content type must be ${types.length === 1 ? list : `one of: ${list}`}`;
  return unsupported(req, "ERR_SVC_CONTENT_TYPE", detail, { Accept: list });
}
