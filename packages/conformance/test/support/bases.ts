import type { ConformanceOptions, Keys, Probes } from "@svc/conformance";
import {
  ellipticAuth,
  ellipticKeys,
  privatePem,
  rsaAuth,
  rsaKeys,
  secret,
  secretAuth,
  secretKeys,
} from "./base-keys.ts";

export { privatePem, publicPem, secret } from "./base-keys.ts";

/** The session settings of a base. */
export interface SessionsBase {
  readonly graceSeconds: number;
  readonly failOpen: boolean;
  /** Starts a second replica with the same store. */
  readonly replica?: boolean;
  /** Signs with a key file instead of a secret; `{keys}` in the TOML is its path. */
  readonly ring?: boolean;
  /** Configures a sign-in provider. */
  readonly federated?: boolean;
}

/** A base service, which mutations break. Each set of settings that rules need has its own base. */
export interface Base {
  readonly toml?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly profile?: "full" | "reduced";
  readonly keys?: Keys;
  readonly tenancy?: ConformanceOptions["tenancy"];
  readonly features: NonNullable<ConformanceOptions["features"]>;
  readonly probes?: Probes;
  /** Whether the kit serves the key set, at `{jwks}` in the TOML. */
  readonly serveKeys?: boolean;
  /** Whether the service passes `/behind` on to the kit, at `{upstream}` in the TOML. */
  readonly serveUpstream?: boolean;
  /** Whether the service has the route `/limited`, with a rate limit whose store can be broken. */
  readonly limited?: boolean;
  /** Whether the service exports its spans to the kit. */
  readonly serveOtlp?: boolean;
  /** Starts a second replica, which exports no spans. */
  readonly silentReplica?: boolean;
  /**
   * How the service issues tokens; undefined if it does not. The kit cannot break the dependencies of such a
   * service: other bases cover the rules on broken dependencies.
   */
  readonly sessions?: SessionsBase;
}

const service = `
[service]
name = "tested"
version = "1.2.3"
port = 0
max_body_bytes = 65536
request_timeout = 2
drain_delay = 0
readiness_timeout = 0.5
`;

const gatewayTable = `
[plugin.gateway.routes.kit]
prefix = "/behind"
targets = ["{upstream}"]
`;

function tenancyTable(settings: string): string {
  return `\n[plugin.tenancy]\nbase_domain = "svc.example"\n${settings}\n`;
}

function issuingTable(settings: string): string {
  return `
[plugin.auth]
issue_tokens = true
session_lifetime_days = 90
issuer = "https://issuer.example"
audience = "tested"
${settings}
`;
}

const enabled = (...names: string[]): string =>
  `\n[plugins]\nenabled = ${JSON.stringify(["observability", "metrics", ...names])}\n`;

const features = ["metrics", "security_headers", "auth", "tenancy"] as const;
const signed = { sources: ["token", "subdomain", "path"], baseDomain: "svc.example" } as const;

const required = `require_tenant = true
exempt_paths = ["/open", "/mixed", "/outbound", "/break/*", "/restore/*"]`;

const traced = {
  toml: `${service}${enabled("auth", "tenancy", "telemetry", "gateway")}${ellipticAuth}${tenancyTable('sources = ["token", "subdomain", "path"]')}${gatewayTable}`,
  keys: ellipticKeys,
  tenancy: signed,
  features: [...features, "telemetry", "gateway"],
  serveOtlp: true,
  serveUpstream: true,
} satisfies Base;

export const bases = {
  /** All features enabled; the service verifies tokens with a configured RSA key. */
  full: {
    toml: `${service}${enabled("auth", "tenancy")}${rsaAuth}${tenancyTable('sources = ["token", "subdomain", "path"]')}`,
    keys: rsaKeys,
    tenancy: signed,
    features,
  },
  /** Like `full`, but with a secret: signing and verifying are much faster. For rules unrelated to public keys. */
  swift: {
    toml: `${service}${enabled("auth", "tenancy", "gateway")}${secretAuth}${tenancyTable('sources = ["token", "subdomain", "path"]')}${gatewayTable}`,
    keys: secretKeys,
    tenancy: signed,
    features: [...features, "gateway"],
    serveUpstream: true,
  },
  /** Like `swift`, and exports its spans to the kit. */
  traced,
  /** Like `traced`, with a second replica that exports no spans. */
  halfTraced: { ...traced, silentReplica: true },
  /** Describes its routes, and limits the requests of each caller to one of them. */
  described: {
    toml: `${service}${enabled("openapi", "auth", "tenancy")}${secretAuth}${tenancyTable('sources = ["token", "subdomain"]')}`,
    keys: secretKeys,
    tenancy: { ...signed, sources: ["token", "subdomain"] },
    features: [...features, "openapi", "rate_limit"],
    limited: true,
  },
  /** The reduced profile, with other claim names. */
  reduced: {
    profile: "reduced",
    env: {
      SVC_APP_NAME: "tested",
      SVC_PORT: "0",
      SVC_AUTH_SECRET: secret,
      SVC_AUTH_ISSUER: "https://issuer.example",
      SVC_AUTH_SCOPE_CLAIM: "permissions",
      SVC_AUTH_ROLES_CLAIM: "groups",
      SVC_AUTH_TENANT_CLAIM: "org",
      SVC_TENANCY_SOURCES: "token,header",
    },
    keys: {
      algorithm: "HS256",
      secret,
      issuer: "https://issuer.example",
      scopeClaim: "permissions",
      rolesClaim: "groups",
      tenantClaim: "org",
    },
    tenancy: { sources: ["token", "header"] },
    features,
  },
  /** The service verifies tokens with the key set that the kit serves. */
  jwks: {
    toml: `${service}${enabled("auth")}\n[plugin.auth]\nmode = "jwks"\njwks_url = "{jwks}"\nalgorithms = ["RS256"]\n`,
    keys: { algorithm: "RS256" },
    features: ["metrics", "security_headers", "auth"],
    serveKeys: true,
  },
  /** The production environment. */
  prod: {
    toml: `${service}env = "prod"\n${enabled("openapi", "auth", "tenancy")}${ellipticAuth}${tenancyTable('sources = ["token", "subdomain"]')}`,
    keys: ellipticKeys,
    tenancy: { ...signed, sources: ["token", "subdomain"] },
    features: [...features, "openapi"],
  },
  /** Every request needs a tenant, and the subdomain, an unsigned source, comes before the token. */
  required: {
    toml: `${service}${enabled("auth", "tenancy")}${secretAuth}${tenancyTable(`sources = ["subdomain", "token"]\n${required}`)}`,
    keys: secretKeys,
    tenancy: { ...signed, sources: ["subdomain", "token"], requireTenant: true },
    features,
  },
  /** A caller without a tenant may act in the tenant that the request names. */
  trusting: {
    toml: `${service}trusted_hosts = ["127.0.0.1", "*.svc.example"]\n${enabled("auth", "tenancy")}${secretAuth}${tenancyTable('sources = ["token", "subdomain"]\ntrust_unscoped_principals = true')}`,
    keys: secretKeys,
    tenancy: { ...signed, sources: ["token", "subdomain"], trustUnscopedPrincipals: true },
    features: [...features, "trusted_hosts"],
  },
  /** Requires a tenant, which is the verified subject if the token does not name one. */
  user: {
    toml: `${service}${enabled("auth", "tenancy")}${secretAuth}${tenancyTable(`sources = ["token", "user"]\n${required}`)}`,
    keys: secretKeys,
    tenancy: { ...signed, sources: ["token", "user"], requireTenant: true },
    features,
  },
  /** Tenants and a rate limit without authentication, and tracing without an endpoint. */
  anonymous: {
    toml: `${service}${enabled("tenancy", "telemetry")}${tenancyTable('sources = ["path", "header"]')}`,
    tenancy: { ...signed, sources: ["path", "header"] },
    features: ["metrics", "security_headers", "tenancy", "telemetry", "rate_limit"],
    limited: true,
  },
  /** Two replicas that issue tokens with a shared secret, share a store, and accept tokens while the store is down. */
  issuing: {
    toml: `${service}${enabled("auth")}${issuingTable("refresh_grace_seconds = 2")}mode = "secret"\nalgorithms = ["HS256"]\n`,
    env: { SVC_AUTH_SECRET: secret },
    keys: { algorithm: "HS256", secret, issuer: "https://issuer.example", audience: "tested" },
    features: ["metrics", "security_headers", "auth"],
    sessions: { graceSeconds: 2, failOpen: true, replica: true },
  },
  /**
   * Signs with a key file, has no grace window, rejects tokens while the store is down, and offers federated sign-in.
   */
  ring: {
    toml: `${service}env = "staging"\n${enabled("auth")}${issuingTable("refresh_grace_seconds = 0")}signing_keys = "{keys}"\nrevocation_fail_open = false\n`,
    keys: {
      algorithm: "RS256",
      privateKey: privatePem,
      issuer: "https://issuer.example",
      audience: "tested",
    },
    features: ["metrics", "security_headers", "auth"],
    sessions: { graceSeconds: 0, failOpen: false, ring: true, federated: true },
  },
} satisfies Readonly<Record<string, Base>>;

export type BaseName = keyof typeof bases;
