import { signToken } from "@svc/test-support";
import request from "supertest";

/** The secret that the tests share with their services. */
export const secret = "a secret of the tests, 32 bytes or more";

/** The environment with which a service accepts tokens of the tests. */
export const authEnv = { SVC_AUTH_SECRET: secret } as const;

/** Returns a token of a tenant's user, with both scopes unless the claims override them. */
export function tokenOf(tenant: string | undefined, claims: Readonly<Record<string, unknown>> = {}): string {
  const scope = "expenses:read expenses:write";
  return signToken({ iss: "expenses", aud: "expenses", tenant_id: tenant, scope, ...claims }, secret);
}

/** Returns a client that calls a service with the token of a tenant's user. */
export function caller(
  url: string,
  tenant = "acme",
  claims?: Readonly<Record<string, unknown>>,
): ReturnType<typeof request.agent> {
  return request.agent(url).set("Authorization", `Bearer ${tokenOf(tenant, claims)}`);
}
