import type { Principal } from "@svc/context";
import { own } from "./token-parser.ts";

/** The names of the claims that a service may choose (CLAIM-1). */
export interface ClaimNames {
  readonly scopeClaim: string;
  readonly rolesClaim: string;
  readonly tenantClaim: string;
}

/**
 * The caller that verified claims speak of: nine fields (AUTH-19), frozen through and through, since one principal
 * may serve many requests. Scopes and roles come from a string with spaces or a list (AUTH-27) and are empty on a
 * refresh token (CLAIM-7), whose `grt` says what the session may do, not what this request may (CLAIM-5).
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
  // Last: what is frozen is read more slowly.
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

// With a list of work instead of recursion: 8 KiB of brackets are a deep stack.
function freezeDeeply(root: object): void {
  const open: object[] = [root];
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    // Copied with Object.assign or by hand, a member of this name would become the prototype of the copy.
    if (Object.hasOwn(each, "__proto__")) Reflect.deleteProperty(each, "__proto__");
    for (const value of Object.values(each) as unknown[]) {
      if (typeof value === "object" && value !== null) open.push(value);
    }
    Object.freeze(each);
  }
}
