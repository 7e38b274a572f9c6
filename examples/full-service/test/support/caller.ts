import { signToken } from "@svc/test-support";
import request from "supertest";

/** What the services of the tests share with whoever issues tokens. */
export const secret = "a secret of the tests, 32 bytes or more";

/** The environment that a service needs to take their tokens. */
export const authEnv = { SVC_AUTH_SECRET: secret } as const;

/** A token of somebody of a tenant, with both scopes unless the claims say otherwise. */
export function tokenOf(tenant: string | undefined, claims: Readonly<Record<string, unknown>> = {}): string {
  const scope = "expenses:read expenses:write";
  return signToken({ iss: "expenses", aud: "expenses", tenant_id: tenant, scope, ...claims }, secret);
}

/** Whoever calls a service with the token of somebody of a tenant. */
export function caller(
  url: string,
  tenant = "acme",
  claims?: Readonly<Record<string, unknown>>,
): ReturnType<typeof request.agent> {
  return request.agent(url).set("Authorization", `Bearer ${tokenOf(tenant, claims)}`);
}
