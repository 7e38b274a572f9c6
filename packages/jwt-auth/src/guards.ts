import { contextOf, enterContext, type Middleware, type Principal } from "@svc/context";
import { ConfigurationError } from "@svc/options";
import { missingRoles, missingScopes, type ProblemError, unauthorized } from "@svc/problem";
import type { IncomingMessage } from "node:http";

// For whoever describes the routes of an application: what a guard asks for.
const GUARD: unique symbol = Symbol.for("@svc/guard") as never;

const NOTHING: readonly string[] = Object.freeze([]);

// A guard that lets a request pass enters its context: what stands between jwtAuth() and the guard may have lost the
// current one, and currentPrincipal() must agree with the guard.

type GuardKind = "auth" | "scopes" | "roles" | "optional_auth";

/**
 * Lets any verified caller pass (AUTH-14). Everybody else gets the 401 (AUTH-11).
 *
 * @throws ConfigurationError when it is given something: a guard that was not called gets a request
 */
export function requireAuth(...nothing: readonly undefined[]): Middleware {
  takesNothing("requireAuth()", nothing);
  return described("auth", NOTHING, function requireAuthGuard(req, res, next) {
    if (principalIn(req) === undefined) next(unauthorized());
    else enterContext(req, res, next);
  });
}

/**
 * Lets a caller pass who holds every one of the scopes (AUTH-15). A caller without one of them gets a 403 that names
 * the missing ones (ERR-13); no caller, a 401 (AUTH-13).
 *
 * @throws ConfigurationError when none is named, or one that no token can hold
 */
export function requireScopes(...scopes: readonly string[]): Middleware {
  const wanted = checked("requireScopes()", "scopes", scopes, /^\S+$/, "a scope without white space");
  return described("scopes", wanted, function requireScopesGuard(req, res, next) {
    const principal = principalIn(req);
    if (principal === undefined) next(unauthorized());
    else if (holdsAll(principal.scopes, wanted)) enterContext(req, res, next);
    else next(lacking(principal.scopes, wanted));
  });
}

/**
 * Lets a caller pass who holds at least one of the roles (AUTH-16). A caller with none of them gets a 403 that names
 * them (ERR-14); no caller, a 401 (AUTH-13).
 *
 * @throws ConfigurationError when none is named, or one that is empty
 */
export function requireRoles(...roles: readonly string[]): Middleware {
  const wanted = checked("requireRoles()", "roles", roles, /\S/, "the name of a role");
  return described("roles", wanted, function requireRolesGuard(req, res, next) {
    const principal = principalIn(req);
    if (principal === undefined) next(unauthorized());
    else if (holdsOne(principal.roles, wanted)) enterContext(req, res, next);
    else next(missingRoles(wanted));
  });
}

/**
 * Lets everybody pass (AUTH-17). Says to people and to descriptions of the routes that a caller is looked at.
 *
 * @throws ConfigurationError when it is given something: a guard that was not called gets a request
 */
export function optionalAuth(...nothing: readonly undefined[]): Middleware {
  takesNothing("optionalAuth()", nothing);
  return described("optional_auth", NOTHING, function optionalAuthGuard(req, res, next) {
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

// The lists of a principal are frozen, and on such ones includes() leaves the fast path.
function holds(held: readonly string[], wanted: string): boolean {
  for (let index = 0; index < held.length; index++) if (held[index] === wanted) return true;
  return false;
}

function lacking(held: readonly string[], wanted: readonly string[]): ProblemError {
  return missingScopes(wanted.filter((each) => !held.includes(each)));
}

// Handed to a route without being called it would answer with a guard, which nobody takes, and the request would hang.
function takesNothing(subject: string, given: readonly unknown[]): void {
  if (given.every((each) => each === undefined)) return;
  const message = `it takes none; write ${subject} where the route is defined, with the brackets`;
  throw new ConfigurationError(subject, [{ key: "arguments", message }]);
}

/** The names, sorted, each once. JavaScript callers pass anything, a guard that was not called gets a request. */
function checked(
  subject: string,
  key: string,
  names: readonly unknown[],
  pattern: RegExp,
  expected: string,
): readonly string[] {
  const fault = faultOf(names, pattern, expected);
  if (fault !== undefined) throw new ConfigurationError(subject, [{ key, message: fault }]);
  return Object.freeze([...new Set(names as readonly string[])].sort());
}

function faultOf(names: readonly unknown[], pattern: RegExp, expected: string): string | undefined {
  if (names.length === 0) return `needs at least one; for any verified caller there is requireAuth()`;
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

function described(kind: GuardKind, values: readonly string[], guard: Middleware): Middleware {
  return Object.defineProperty(guard, GUARD, { value: Object.freeze({ kind, values }) });
}
