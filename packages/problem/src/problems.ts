import { ProblemError, type ProblemOptions } from "./problem-error.ts";
import { cut, safeInput } from "./json-safe.ts";

/** Options of the functions that create a problem. */
export type ReadyOptions = Omit<ProblemOptions, "title">;

type ProblemFactory = (detail?: string, options?: ReadyOptions) => ProblemError;

function problemWith(status: number): ProblemFactory {
  return (detail, options) => new ProblemError(status, detail, options);
}

/** 400. */
export const badRequest = problemWith(400);

/**
 * 401 with `WWW-Authenticate: Bearer` and a detail without a reason (ERR-12). Put the reason into `cause`, for the log.
 */
export function unauthorized(options?: ReadyOptions): ProblemError {
  return new ProblemError(401, undefined, {
    ...options,
    headers: { "WWW-Authenticate": "Bearer", ...options?.headers },
  });
}

/** 403. */
export const forbidden = problemWith(403);

/** 403 with the sorted list of scopes that the caller lacks, in the detail and in `missing_scopes` (ERR-13). */
export function missingScopes(scopes: readonly string[]): ProblemError {
  const sorted = [...new Set(scopes)].sort();
  return new ProblemError(403, `missing scope(s): ${sorted.join(", ")}`, {
    code: "ERR_SVC_MISSING_SCOPES",
    extensions: { missing_scopes: sorted },
  });
}

/** 403 with the list of roles, of which the caller needs one (ERR-14). */
export function missingRoles(oneOf: readonly string[]): ProblemError {
  return new ProblemError(403, `requires one of: ${oneOf.join(", ")}`, { code: "ERR_SVC_MISSING_ROLES" });
}

/** 404. */
export const notFoundError = problemWith(404);

/** 405 with `Allow` (ERR-10). The list may be empty, for a path without any method. */
export function methodNotAllowed(allow: readonly string[], options?: ReadyOptions): ProblemError {
  return new ProblemError(405, undefined, {
    ...options,
    headers: { ...options?.headers, Allow: allow.join(", ") },
  });
}

/** 409. */
export const conflict = problemWith(409);

/** 413. */
export const payloadTooLarge = problemWith(413);

/** 415. */
export const unsupportedMediaType = problemWith(415);

/** One fault in the input of a client (ERR-16). */
export interface ValidationIssue {
  /** A short, stable, machine-readable identifier, such as `missing` or `string_too_short`. */
  readonly type: string;
  /** The location of the fault, such as `["body", "items", 0, "price"]`. */
  readonly loc: readonly (string | number)[];
  /** A human-readable message. */
  readonly msg: string;
  /** The value at that location. Shown JSON-safe and truncated to 512 characters; omit it if it may be a secret. */
  readonly input?: unknown;
}

const MAX_ISSUES = 100;

/** 422 `Request validation failed` with the first 100 issues in `errors` (ERR-15 to ERR-17). */
export function unprocessable(errors: readonly ValidationIssue[], options?: ReadyOptions): ProblemError {
  return new ProblemError(422, "Request validation failed", {
    ...options,
    extensions: { ...options?.extensions, errors: errors.slice(0, MAX_ISSUES).map(shown) },
  });
}

function shown(issue: ValidationIssue): Record<string, unknown> {
  const result: Record<string, unknown> = {
    type: String(issue.type),
    loc: issue.loc.map((part) => (typeof part === "number" ? part : cut(String(part)))),
    msg: String(issue.msg),
  };
  if ("input" in issue && issue.input !== undefined) result["input"] = safeInput(issue.input);
  return result;
}

/** 500 with the generic detail. Put the reason into `cause`, for the log. */
export function internalError(options?: ReadyOptions): ProblemError {
  return new ProblemError(500, undefined, options);
}

/** 502. */
export const badGateway = problemWith(502);

/** 504. */
export const gatewayTimeout = problemWith(504);
