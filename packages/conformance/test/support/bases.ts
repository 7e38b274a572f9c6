import { generateKeyPairSync } from "node:crypto";
import type { ConformanceOptions, Keys, Probes } from "@svc/conformance";

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
  /**
   * How the service issues tokens; undefined if it does not. The dependencies of such a base cannot be broken: other
   * bases cover those rules.
   */
  readonly sessions?: SessionsBase;
}

const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
export const publicPem: string = publicKey.export({ type: "spki", format: "pem" }).toString();
export const privatePem: string = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
export const secret = "a-secret-of-forty-characters-or-somewhat-more";

const elliptic = generateKeyPairSync("ec", { namedCurve: "P-256" });

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

const rsaKeys: Keys = {
  algorithm: "RS256",
  algorithms: ["RS256", "PS256"],
  privateKey: privatePem,
  issuer: "https://issuer.example",
  audience: "tested",
};

const rsaAuth = `
[plugin.auth]
mode = "public_key"
algorithms = ["RS256", "PS256"]
public_key = """${publicPem}"""
issuer = "https://issuer.example"
audience = "tested"
`;

const ellipticKeys: Keys = {
  algorithm: "ES256",
  privateKey: elliptic.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  issuer: "https://issuer.example",
  audience: "tested",
};

const ellipticAuth = `
[plugin.auth]
mode = "public_key"
algorithms = ["ES256"]
public_key = """${elliptic.publicKey.export({ type: "spki", format: "pem" }).toString()}"""
issuer = "https://issuer.example"
audience = "tested"
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

export const bases = {
  /** All features enabled; the service verifies tokens with a configured RSA key. */
  full: {
    toml: `${service}${enabled("auth", "tenancy")}${rsaAuth}${tenancyTable('sources = ["token", "subdomain", "path"]')}`,
    keys: rsaKeys,
    tenancy: signed,
    features,
  },
  /** Like `full`, but with an ES256 key, which signs 20 times as fast; for rules unrelated to tokens. */
  swift: {
    toml: `${service}${enabled("auth", "tenancy", "gateway")}${ellipticAuth}${tenancyTable('sources = ["token", "subdomain", "path"]')}${gatewayTable}`,
    keys: ellipticKeys,
    tenancy: signed,
    features: [...features, "gateway"],
    serveUpstream: true,
  },
  /** Like `swift`, and exports its spans to the kit. */
  traced: {
    toml: `${service}${enabled("auth", "tenancy", "telemetry", "gateway")}${ellipticAuth}${tenancyTable('sources = ["token", "subdomain", "path"]')}${gatewayTable}`,
    keys: ellipticKeys,
    tenancy: signed,
    features: [...features, "telemetry", "gateway"],
    serveOtlp: true,
    serveUpstream: true,
  },
  /** Describes its routes, and limits the requests of each caller to one of them. */
  described: {
    toml: `${service}${enabled("openapi", "auth", "tenancy")}${ellipticAuth}${tenancyTable('sources = ["token", "subdomain"]')}`,
    keys: ellipticKeys,
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
    toml: `${service}${enabled("auth", "tenancy")}${ellipticAuth}${tenancyTable('sources = ["subdomain", "token"]\nrequire_tenant = true\nexempt_paths = ["/open", "/mixed", "/outbound", "/break/*", "/restore/*"]')}`,
    keys: ellipticKeys,
    tenancy: { ...signed, sources: ["subdomain", "token"], requireTenant: true },
    features,
  },
  /** A caller without a tenant may act in the tenant that the request names. */
  trusting: {
    toml: `${service}trusted_hosts = ["127.0.0.1", "*.svc.example"]\n${enabled("auth", "tenancy")}${ellipticAuth}${tenancyTable('sources = ["token", "subdomain"]\ntrust_unscoped_principals = true')}`,
    keys: ellipticKeys,
    tenancy: { ...signed, sources: ["token", "subdomain"], trustUnscopedPrincipals: true },
    features: [...features, "trusted_hosts"],
  },
  /** The verified subject is the tenant if the token does not name one. */
  user: {
    toml: `${service}${enabled("auth", "tenancy")}${ellipticAuth}${tenancyTable('sources = ["token", "user"]')}`,
    keys: ellipticKeys,
    tenancy: { ...signed, sources: ["token", "user"] },
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
