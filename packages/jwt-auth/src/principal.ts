import type { IncomingMessage } from "node:http";
import { contextOf, currentContext, type Principal } from "@svc/context";
import { unauthorized } from "@svc/problem";
import type { CallerOf } from "./authenticated.ts";
import { own } from "./token-parser.ts";

/**
 * Returns the verified caller of a request, or undefined (AUTH-18, AUTH-19). In TypeScript, the result is not undefined in a
 * handler behind a guard such as `requireAuth()` in the same `app.get(path, guard, handler)` call of Express.
 */
export function principalOf<R extends IncomingMessage>(req: R): CallerOf<R> {
  return contextOf(req)?.principal as CallerOf<R>;
}

/**
 * Returns the verified caller of the current request, without the request object (AUTH-18). Does not work in `data` and
 * `end` listeners of the request: use `principalOf(req)` there.
 *
 * @throws ProblemError the 401 of `requireAuth()` when the request has no caller
 */
export function currentPrincipal(): Principal {
  const principal = currentContext()?.principal;
  if (principal === undefined) throw unauthorized();
  return principal;
}

/** Names of the configurable claims (CLAIM-1). */
export interface ClaimNames {
  readonly scopeClaim: string;
  readonly rolesClaim: string;
  readonly tenantClaim: string;
}

/**
 * Builds the principal from verified claims: nine fields (AUTH-19), deeply frozen because many requests may share it. Scopes
 * and roles come from a space-separated string or a list (AUTH-27). Both are empty for a refresh token (CLAIM-7); its
 * claim `grt` is not read, because it lists the rights of the session, not those of a request (CLAIM-5).
 */
export function toPrincipal(claims: Record<string, unknown>, names: ClaimNames): Principal {
  const isRefresh = own(claims, "typ") === "refresh";
  const expiresAt = own(claims, "exp");
  const principal: Principal = Object.freeze({
    subject: textOf(claims, "sub") ?? "",
    scopes: isRefresh ? none : namesIn(own(claims, names.scopeClaim)),
    roles: isRefresh ? none : namesIn(own(claims, names.rolesClaim)),
    tenant: textOf(claims, names.tenantClaim),
    tokenId: textOf(claims, "jti"),
    family: textOf(claims, "fam"),
    issuer: textOf(claims, "iss"),
    expiresAt: typeof expiresAt === "number" ? Math.trunc(expiresAt) : undefined,
    claims,
  });
  // Freeze last, because reads of frozen objects are slower.
  freezeDeeply(claims);
  return principal;
}

const none: readonly string[] = Object.freeze([]);

function textOf(claims: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = own(claims, name);
  return typeof value === "string" && value !== "" ? value : undefined;
}

function namesIn(value: unknown): readonly string[] {
  if (typeof value === "string") return Object.freeze(value.split(" ").filter((each) => each !== ""));
  if (!Array.isArray(value)) return none;
  return Object.freeze(value.filter((each): each is string => typeof each === "string" && each !== ""));
}

// Iterative, because 8 KiB of nested brackets would overflow the stack of a recursive function.
function freezeDeeply(root: object): void {
  const open: object[] = [root];
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    // Delete a `__proto__` member: if an application copies the claims with Object.assign(), it would become the
    // prototype of the copy.
    if (Object.hasOwn(each, "__proto__")) Reflect.deleteProperty(each, "__proto__");
    for (const value of Object.values(each) as unknown[]) {
      if (typeof value === "object" && value !== null) open.push(value);
    }
    Object.freeze(each);
  }
}
