import { contextOf, describeGuard, enterContext, type Middleware, type Principal } from "@svc/context";
import { ConfigurationError, takesNothing } from "@svc/options";
import { missingRoles, missingScopes, type ProblemError, unauthorized } from "@svc/problem";
import type { IncomingMessage } from "node:http";
import type { AuthGuard } from "./authenticated.ts";

// Guards run the next handler in the context of the request, because a middleware between jwtAuth() and the guard may
// have lost it, and currentPrincipal() needs it.

/**
 * Admits any verified caller (AUTH-14). Rejects other requests with a 401 (AUTH-11).
 *
 * @throws ConfigurationError when called with arguments, for example by a route that gets `requireAuth` without `()`
 */
export function requireAuth(...nothing: readonly undefined[]): AuthGuard {
  takesNothing("requireAuth()", nothing);
  return describeGuard("auth", [], function requireAuthGuard(req, res, next) {
    if (principalIn(req) === undefined) next(unauthorized());
    else enterContext(req, res, next);
  });
}

/**
 * Admits a caller with all of the scopes (AUTH-15). Rejects others with a 403 that lists the missing scopes (ERR-13), or
 * with a 401 if there is no caller (AUTH-13).
 *
 * @throws ConfigurationError without a scope, or for a scope that no token can contain
 */
export function requireScopes(...scopes: readonly string[]): AuthGuard {
  const wanted = checked("requireScopes()", "scopes", scopes, /^\S+$/, "a scope without white space");
  return describeGuard("scopes", wanted, function requireScopesGuard(req, res, next) {
    const principal = principalIn(req);
    if (principal === undefined) next(unauthorized());
    else if (holdsAll(principal.scopes, wanted)) enterContext(req, res, next);
    else next(lacking(principal.scopes, wanted));
  });
}

/**
 * Admits a caller with at least one of the roles (AUTH-16). Rejects others with a 403 that lists the roles (ERR-14), or with
 * a 401 if there is no caller (AUTH-13).
 *
 * @throws ConfigurationError without a role, or for an empty role
 */
export function requireRoles(...roles: readonly string[]): AuthGuard {
  const wanted = checked("requireRoles()", "roles", roles, /\S/, "a role name that is not blank");
  return describeGuard("roles", wanted, function requireRolesGuard(req, res, next) {
    const principal = principalIn(req);
    if (principal === undefined) next(unauthorized());
    else if (holdsOne(principal.roles, wanted)) enterContext(req, res, next);
    else next(missingRoles(wanted));
  });
}

/**
 * Admits every request (AUTH-17). Documents, for readers and tools, that the route uses the caller if there is one.
 *
 * @throws ConfigurationError when called with arguments, for example by a route that gets `optionalAuth` without `()`
 */
export function optionalAuth(...nothing: readonly undefined[]): Middleware {
  takesNothing("optionalAuth()", nothing);
  return describeGuard("optional_auth", [], function optionalAuthGuard(req, res, next) {
    if (contextOf(req) === undefined) next();
    else enterContext(req, res, next);
  });
}

function principalIn(req: IncomingMessage): Principal | undefined {
  return contextOf(req)?.principal;
}

function holdsAll(held: readonly string[], wanted: readonly string[]): boolean {
  for (const each of wanted) if (!holds(held, each)) return false;
  return true;
}

function holdsOne(held: readonly string[], wanted: readonly string[]): boolean {
  for (const each of wanted) if (holds(held, each)) return true;
  return false;
}

// includes() is slow on frozen arrays, such as the lists of a principal.
function holds(held: readonly string[], wanted: string): boolean {
  for (let index = 0; index < held.length; index++) if (held[index] === wanted) return true;
  return false;
}

function lacking(held: readonly string[], wanted: readonly string[]): ProblemError {
  return missingScopes(wanted.filter((each) => !held.includes(each)));
}

/** Returns the names sorted and without duplicates. Validates them, because callers in JavaScript may pass any value. */
function checked(
  subject: string,
  key: string,
  names: readonly unknown[],
  pattern: RegExp,
  expected: string,
): readonly string[] {
  const fault = faultOf(names, pattern, expected);
  if (fault !== undefined) throw new ConfigurationError(subject, [{ key, message: fault }]);
  return [...new Set(names as readonly string[])].sort();
}

function faultOf(names: readonly unknown[], pattern: RegExp, expected: string): string | undefined {
  if (names.length === 0) return "must not be empty; use requireAuth() to accept any verified caller";
  for (const [index, name] of names.entries()) {
    if (typeof name === "string" && pattern.test(name)) continue;
    if (Array.isArray(name)) return `argument ${index + 1} is a list; pass the names one by one`;
    if (typeof name === "object" && name !== null) {
      return `argument ${index + 1} is an object; call the guard with names where the route is defined`;
    }
    const shown = typeof name === "string" ? JSON.stringify(name.slice(0, 80)) : typeof name;
    return `argument ${index + 1} must be ${expected}; it is ${shown}`;
  }
  return undefined;
}
