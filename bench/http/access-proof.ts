import { expectEqual } from "../harness/expect-equal.ts";
import type { Injector } from "../harness/injector.ts";
import { callerHeaders, tenantOf } from "./access.ts";
import { type Seen, urlOf } from "./route.ts";
import { claimsFor, createIssuer, type Issuer } from "./tokens.ts";

/** Inputs of the correctness check for a case whose route requires authentication. */
export interface Access {
  readonly issuer: Issuer;
  /** The ids of revoked tokens that the case's revocation check reads. */
  readonly revoked: Set<string>;
  readonly seen: Seen;
  /** The token of each request, in the order of the requests. */
  readonly tokens: readonly string[];
  /**
   * Whether verified tokens are remembered. True: the handler sees the same caller object again. False: each token is
   * verified every time. Undefined: not checked.
   */
  readonly remembers?: boolean | undefined;
}

/** @throws Error that names the token which was wrongly accepted or refused */
export async function proveAccess(injector: Injector, access: Access): Promise<void> {
  await proveRefusals(injector, access);
  await proveRevocation(injector, access);
  await proveTenant(injector, access);
  if (access.remembers !== undefined) await proveMemory(injector, access, access.remembers);
}

async function proveRefusals(injector: Injector, { issuer }: Access): Promise<void> {
  const claims = claimsFor(tenantOf(0));
  const good = issuer.mint(claims);
  const dot = good.lastIndexOf(".") + 1;
  const now = Math.floor(Date.now() / 1000);
  const refused: Readonly<Record<string, string | undefined>> = {
    "no token": undefined,
    "a malformed token": "not.a.token",
    "a token with another signature":
      good.slice(0, dot) + (good[dot] === "A" ? "B" : "A") + good.slice(dot + 1),
    "a token signed by another issuer's key": createIssuer(issuer.algorithm).mint(claims),
    "a token with another issuer's name": issuer.mint({ ...claims, iss: "https://other.example/" }),
    "a token for another audience": issuer.mint({ ...claims, aud: "https://other.example" }),
    "an expired token": issuer.mint({ ...claims, exp: now - 600 }),
    "a token without an expiry": issuer.mint({ ...claims, exp: undefined }),
  };
  for (const [what, token] of Object.entries(refused)) {
    expectEqual(`the status for ${what}`, await statusOf(injector, token, tenantOf(0)), 401);
  }
  expectEqual("the status for a good token", await statusOf(injector, good, tenantOf(0)), 200);
  const unscoped = issuer.mint({ ...claims, scope: "orders:read" });
  expectEqual("the status without the scope", await statusOf(injector, unscoped, tenantOf(0)), 403);
}

async function proveRevocation(injector: Injector, { issuer, revoked }: Access): Promise<void> {
  const claims = claimsFor(tenantOf(0));
  const id = claims["jti"] as string;
  const token = issuer.mint(claims);
  revoked.add(id);
  expectEqual("the status for a revoked token", await statusOf(injector, token, tenantOf(0)), 401);
  revoked.delete(id);
  for (let time = 0; time < 3; time++) {
    expectEqual("the status before a revocation", await statusOf(injector, token, tenantOf(0)), 200);
  }
  revoked.add(id);
  const after = "the status for a token that was accepted and then revoked";
  expectEqual(after, await statusOf(injector, token, tenantOf(0)), 401);
  revoked.delete(id);
}

async function proveTenant(injector: Injector, { issuer, seen }: Access): Promise<void> {
  for (const tenant of [tenantOf(1), tenantOf(2)]) {
    const token = issuer.mint(claimsFor(tenant));
    for (const named of [tenant, undefined]) {
      seen.tenant = undefined;
      expectEqual("the status for the token's own tenant", await statusOf(injector, token, named), 200);
      expectEqual("the tenant that the handler sees", seen.tenant, tenant);
    }
    const other = await statusOf(injector, token, tenantOf(3));
    expectEqual("the status when the host names another tenant", other, 403);
  }
  const without = issuer.mint({ ...claimsFor(""), tenant_id: undefined });
  for (const named of [tenantOf(0), undefined]) {
    expectEqual("the status for a token without a tenant", await statusOf(injector, without, named), 403);
  }
}

async function proveMemory(injector: Injector, access: Access, remembers: boolean): Promise<void> {
  const { tokens, seen } = access;
  const callers: unknown[] = [];
  for (let index = 0; index < 2 * tokens.length; index++) {
    const at = index % tokens.length;
    expectEqual("the status in rotation", await statusOf(injector, tokens[at], tenantOf(at)), 200);
    callers.push(seen.caller);
  }
  const known = tokens.filter((_, index) => callers[index] === callers[index + tokens.length]).length;
  expectEqual("the callers remembered", known, remembers ? tokens.length : 0);
}

async function statusOf(
  injector: Injector,
  token: string | undefined,
  tenant: string | undefined,
): Promise<number> {
  return (await injector.send("GET", urlOf(0), callerHeaders(token, tenant))).status;
}
