import type { FederatedProbe, SessionProbe } from "./session-options.ts";

/** What a service says that it has. Checks of anything else are not applicable. */
export type Feature =
  /** Verifies bearer tokens. */
  | "auth"
  /** Resolves tenants. */
  | "tenancy"
  /** Serves `/metrics`. */
  | "metrics"
  /** Exports spans, so it sends its own span as parent. */
  | "telemetry"
  /** Has origins configured for CORS. */
  | "cors"
  /** Answers for a list of hosts only, that of the base URL among them. */
  | "trusted_hosts"
  /** Sets security headers. */
  | "security_headers";

export const features: readonly Feature[] = [
  "auth",
  "tenancy",
  "metrics",
  "telemetry",
  "cors",
  "trusted_hosts",
  "security_headers",
];

export type Algorithm =
  | "RS256"
  | "RS384"
  | "RS512"
  | "PS256"
  | "PS384"
  | "PS512"
  | "ES256"
  | "ES384"
  | "ES512"
  | "EdDSA"
  | "HS256"
  | "HS384"
  | "HS512";

/** How tokens are made that the service accepts. */
export interface Keys {
  /** The algorithm that the kit signs with. Required. */
  readonly algorithm: Algorithm;
  /** All algorithms that the service is configured to take. Default: `algorithm` alone. */
  readonly algorithms?: readonly Algorithm[] | undefined;
  /** The shared secret, for HS256, HS384 and HS512. */
  readonly secret?: string | undefined;
  /** The private key as PEM text or as a JWK, for all other algorithms. Not needed when the kit serves the key set. */
  readonly privateKey?: string | Readonly<Record<string, unknown>> | undefined;
  /** Written in the header of every token. Default: none. */
  readonly kid?: string | undefined;
  /** What the service compares `iss` with. Default: it does not. */
  readonly issuer?: string | undefined;
  /** What the service compares `aud` with. Default: it does not. */
  readonly audience?: string | undefined;
  /** Seconds. Default: 30. */
  readonly leeway?: number | undefined;
  /** Default: `sub` is `conformance-kit`. */
  readonly subject?: string | undefined;
  /** Default: `scope`. */
  readonly scopeClaim?: string | undefined;
  /** Default: `roles`. */
  readonly rolesClaim?: string | undefined;
  /** Default: `tenant_id`. */
  readonly tenantClaim?: string | undefined;
  /** Rights that other probes than `scoped` and `role` need, `json` for example. Default: none. */
  readonly scopes?: readonly string[] | undefined;
  /** As `scopes`. Default: none. */
  readonly roles?: readonly string[] | undefined;
  /** The tenant of every token that needs one for the sake of the probes. Default: with tenancy, the first tenant. */
  readonly tenant?: string | undefined;
}

/** A request: `"/path"`, `"POST /path"` or its parts. */
export type Probe =
  | string
  | {
      readonly method?: string | undefined;
      readonly path: string;
      readonly headers?: Readonly<Record<string, string>> | undefined;
      /** Sent as JSON. */
      readonly body?: unknown;
    };

/** A dependency that can be taken away while the kit looks. */
export interface DependencyProbe {
  /** The name of its check in `/ready`. */
  readonly check: string;
  readonly critical: boolean;
  /** What its check does while it is broken. Default: `fails`. */
  readonly fault?: "fails" | "hangs" | "throws" | undefined;
  /** The request that breaks it; an absolute URL may name another server, a proxy for example. */
  readonly break: Probe;
  /** The request that repairs it. */
  readonly restore: Probe;
}

/** Requests that show a rule. All but `open` are optional; what is missing makes its checks not applicable. */
export interface Probes {
  /** Answers 2xx to anybody, at every call. Default: `/health`. */
  readonly open?: Probe | undefined;
  /** Needs a verified caller and no right. Default: the request of `scoped`, which AUTH-14 cannot be judged on. */
  readonly protected?: Probe | undefined;
  /** Needs all of `scopes`; one alone does not show that all of them are asked for (AUTH-15). */
  readonly scoped?: { readonly request: Probe; readonly scopes: readonly string[] } | undefined;
  /** Needs any one of `roles`. */
  readonly role?: { readonly request: Probe; readonly roles: readonly string[] } | undefined;
  /** Serves callers and others alike. */
  readonly mixed?: Probe | undefined;
  /** Needs a tenant. Best answers JSON that tells it. */
  readonly tenant?:
    | string
    | {
        readonly request: Probe;
        /** The member of the answer that has the tenant. Default: `tenant`. */
        readonly member?: string | undefined;
      }
    | undefined;
  /** Needs that the request names a tenant, 404 otherwise. */
  readonly requestedTenant?: Probe | undefined;
  /** Throws an exception that nobody handles. */
  readonly failing?:
    | string
    | {
        readonly request: Probe;
        /** The message of the exception: it must not get out. */
        readonly message?: string | undefined;
      }
    | undefined;
  /** Takes any JSON object that is sent to it with POST (or the method given). */
  readonly json?: Probe | undefined;
  /** Refuses the body that it is given because it is not valid. */
  readonly invalid?:
    | {
        readonly request: Probe;
        /** A member of the body that is refused when it is a long text. Default: none. */
        readonly longMember?: string | undefined;
      }
    | undefined;
  /** A route with a parameter: `{random}` in its path is replaced. */
  readonly templated?:
    | {
        readonly request: Probe;
        /** How the service writes it, mount included: `/items/:id`. */
        readonly template: string;
      }
    | undefined;
  /** Serves a page. */
  readonly html?: Probe | undefined;
  /** Makes an outbound call to the URL in its path: `{url}` there is replaced. */
  readonly outbound?: Probe | undefined;
  /** Answers after the request timeout. */
  readonly slow?: Probe | undefined;
  /** Begins its answer at once and ends it after the request timeout. */
  readonly streaming?: Probe | undefined;
  readonly dependencies?: readonly DependencyProbe[] | undefined;
  /** Signs somebody in, in a service that issues tokens. */
  readonly session?: SessionProbe | undefined;
  /** A provider through which people sign in. */
  readonly federated?: FederatedProbe | undefined;
}

/** How tenants are resolved. */
export interface TenancySettings {
  /** Default: token, subdomain. */
  readonly sources?: readonly ("token" | "user" | "subdomain" | "path" | "header")[] | undefined;
  readonly baseDomain?: string | undefined;
  /** Default: `/t`. */
  readonly pathPrefix?: string | undefined;
  /** Default: false. */
  readonly requireTenant?: boolean | undefined;
  /** Default: false. */
  readonly trustUnscopedPrincipals?: boolean | undefined;
  /** Two tenants that the probes can act in. Default: `acme` and `globex`. */
  readonly tenants?: readonly string[] | undefined;
}

/** What the service was configured with, where it is not the default. */
export interface Limits {
  /** Default: 2,097,152. */
  readonly maxBodyBytes?: number | undefined;
  /** Default: 30. */
  readonly requestTimeoutSeconds?: number | undefined;
  /** Default: 2.0. */
  readonly readinessTimeoutSeconds?: number | undefined;
}

/** What {@link checkConformance} takes. */
export interface ConformanceOptions {
  /** Base URL of the service under test. Required. */
  readonly url: string;
  /** Base URL of a second replica of the same service. Default: none; nothing that needs two is checked. */
  readonly replica?: string | undefined;
  /** Default: `full`. */
  readonly profile?: "full" | "reduced" | undefined;
  /** Default: `metrics` and `security_headers`, `auth` when there are keys or sessions, `tenancy` when there are its settings. */
  readonly features?: readonly Feature[] | undefined;
  /** Default: none; nothing that needs a token is checked. */
  readonly keys?: Keys | undefined;
  readonly probes?: Probes | undefined;
  readonly tenancy?: TenancySettings | undefined;
  readonly limits?: Limits | undefined;
  /** Whether the choices of the house are checked as well. Default: false. */
  readonly house?: boolean | undefined;
  /** Ids of rules; only these are checked. Default: all. */
  readonly only?: readonly string[] | undefined;
  /**
   * What has to be seen: names of features and probes as in `probes.json`, and `keys`, `log`, `replica`, `key_set`, `hook`,
   * `store`, `rotation`, `openapi`. A service does not conform when no rule that needs one of them was judged. Default: none.
   */
  readonly require?: readonly string[] | undefined;
  /** How many rules may be not applicable before a service does not conform. Default: half of those that are looked at. */
  readonly maxNotApplicable?: number | undefined;
  /**
   * `host:port` where the kit serves a key set of its own at every path, which the service was configured to fetch
   * (mode `jwks`). Default: none.
   */
  readonly serveKeys?: string | undefined;
  /** The log of the service: a file, or a function that gives the text so far. Default: none. */
  readonly log?: string | (() => string | Promise<string>) | undefined;
  /** Seconds for one request. Default: 10. */
  readonly requestSeconds?: number | undefined;
  /** Seconds for one check. Default: 60. */
  readonly checkSeconds?: number | undefined;
  /** Seconds for everything. Default: 300. */
  readonly totalSeconds?: number | undefined;
  /** Seconds that the key set checks wait for a new key to be fetched: the service may fetch once a minute. Default: 65. */
  readonly keySetPatienceSeconds?: number | undefined;
  /** How many checks run side by side. Default: 8. */
  readonly concurrency?: number | undefined;
}
