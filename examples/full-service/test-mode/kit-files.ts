import type { DemoProvider } from "../src/demo-provider.ts";
import { demoPassword } from "../src/demo-users.ts";
import { secretMessage, testLimit } from "./routes.ts";
import type { SigningKeys } from "./signing-keys.ts";
import { dependencies, grantedScopes } from "./switches.ts";

/** Returns the content of the kit's `keys.json`: the first key of the service, with which the kit creates tokens. */
export function keysFor({ kid, privatePem }: SigningKeys["first"]): object {
  return {
    algorithm: "ES256",
    private_key: privatePem,
    kid,
    issuer: "expenses",
    audience: "expenses",
    scope_claim: "permissions",
    roles_claim: "groups",
    scopes: ["expenses:read", "expenses:write"],
  };
}

/** Returns the content of the kit's `probes.json`: routes of the example and of the test mode. */
export function probesFor({ authorizationEndpoint }: DemoProvider): object {
  return {
    open: "/",
    protected: "/auth/me",
    scoped: { request: "/test/scoped", scopes: ["expenses:read", "expenses:write"] },
    role: { request: "/totals", roles: ["admin"] },
    mixed: "/whoami",
    tenant: { request: "/test-tenant", member: "tenant" },
    requested_tenant: "/test/requested-tenant",
    failing: { request: "/test/failing", message: secretMessage },
    json: "POST /expenses",
    invalid: { request: { path: "/expenses", body: { category: "x" } }, long_member: "note" },
    templated: { request: "/expenses/{random}", template: "/expenses/:id" },
    html: { path: "/", headers: { Accept: "text/html" } },
    docs: "/docs",
    outbound: "/test/outbound?to={url}",
    gateway: "/test/behind",
    limited: { request: "/test/limited", limit: testLimit.limit, window_seconds: testLimit.windowSeconds },
    limit_store: { break: "POST /test/limits/break", restore: "POST /test/limits/restore" },
    slow: "/test/slow",
    streaming: "/test/streaming",
    dependencies: dependencies.map(({ check, critical, fault }) => ({
      check,
      critical,
      fault,
      break: `POST /test/dependencies/${check}/break`,
      restore: `POST /test/dependencies/${check}/restore`,
    })),
    session: {
      request: {
        path: "/login",
        body: { email: "clerk@harbour-cafe.example", password: demoPassword },
      },
      grace_seconds: 2,
      lifetime_days: 90,
      hook: {
        decline: "POST /test/hook/decline",
        fail: "POST /test/hook/fail",
        grant: { request: "POST /test/hook/grant", scopes: grantedScopes },
        restore: "POST /test/hook/restore",
      },
      store: { break: "POST /test/store/break", restore: "POST /test/store/restore" },
      rotation: { add: "POST /test/keys/add", promote: "POST /test/keys/promote" },
    },
    federated: { provider: "demo", authorization_endpoint: authorizationEndpoint },
    tenancy: {
      sources: ["subdomain", "token", "path"],
      base_domain: "localhost",
      require_tenant: true,
      trust_unscoped_principals: true,
      tenants: ["harbour-cafe", "nordic-bikes"],
    },
    limits: { max_body_bytes: 65_536, request_timeout_seconds: 5, readiness_timeout_seconds: 2 },
  };
}
