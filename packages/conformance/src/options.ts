import type { Probe } from "./requests.ts";
import type { FederatedProbe, SessionProbe } from "./session-options.ts";

/** A feature that the service declares. Checks of other features are not applicable. */
export type Feature =
  /** Verifies bearer tokens. */
  | "auth"
  /** Resolves tenants. */
  | "tenancy"
  /** Serves `/metrics`. */
  | "metrics"
  /** Exports spans, so it sends its own span as parent. */
  | "telemetry"
  /** Has CORS origins configured. */
  | "cors"
  /** Accepts only listed hosts, including that of the base URL. */
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

/** How to make tokens that the service accepts. */
export interface Keys {
  /** The algorithm that the kit signs with. Required. */
  readonly algorithm: Algorithm;
  /** All algorithms that the service accepts. Default: only `algorithm`. */
  readonly algorithms?: readonly Algorithm[] | undefined;
  /** The shared secret, for HS256, HS384 and HS512. */
  readonly secret?: string | undefined;
  /** The private key as PEM text or as a JWK, for all other algorithms. Not needed when the kit serves the key set. */
  readonly privateKey?: string | Readonly<Record<string, unknown>> | undefined;
  /** The `kid` in the header of every token. Default: none. */
  readonly kid?: string | undefined;
  /** The `iss` that the service requires. Default: none. */
  readonly issuer?: string | undefined;
  /** The `aud` that the service requires. Default: none. */
  readonly audience?: string | undefined;
  /** The service's leeway in seconds. Default: 30. */
  readonly leeway?: number | undefined;
  /** The `sub` of tokens. Default: `conformance-kit`. */
  readonly subject?: string | undefined;
  /** Default: `scope`. */
  readonly scopeClaim?: string | undefined;
  /** Default: `roles`. */
  readonly rolesClaim?: string | undefined;
  /** Default: `tenant_id`. */
  readonly tenantClaim?: string | undefined;
  /** Scopes that probes other than `scoped` and `role` need, for example `json`. Default: none. */
  readonly scopes?: readonly string[] | undefined;
  /** Roles, as `scopes`. Default: none. */
  readonly roles?: readonly string[] | undefined;
  /** The tenant in tokens for probes that need one. Default: with tenancy, the first tenant. */
  readonly tenant?: string | undefined;
}

/** A dependency that the kit can break and repair. */
export interface DependencyProbe {
  /** The name of its check in `/ready`. */
  readonly check: string;
  readonly critical: boolean;
  /** What its check does while the dependency is broken. Default: `fails`. */
  readonly fault?: "fails" | "hangs" | "throws" | undefined;
  /** The request that breaks it; an absolute URL may name another server, for example a proxy. */
  readonly break: Probe;
  /** The request that repairs it. */
  readonly restore: Probe;
}

/** Requests that demonstrate rules. All except `open` are optional; checks without their probe are not applicable. */
export interface Probes {
  /** Answers 2xx to every caller, at every call. Default: `/health`. */
  readonly open?: Probe | undefined;
  /** Needs a verified caller without rights. Default: the request of `scoped`, with which AUTH-14 cannot be judged. */
  readonly protected?: Probe | undefined;
  /** Needs all of `scopes`; a single scope does not show that all are required (AUTH-15). */
  readonly scoped?: { readonly request: Probe; readonly scopes: readonly string[] } | undefined;
  /** Needs any one of `roles`. */
  readonly role?: { readonly request: Probe; readonly roles: readonly string[] } | undefined;
  /** Serves authenticated and anonymous callers. */
  readonly mixed?: Probe | undefined;
  /** Needs a tenant. Ideally answers JSON that contains it. */
  readonly tenant?:
    | string
    | {
        readonly request: Probe;
        /** The member of the answer with the tenant. Default: `tenant`. */
        readonly member?: string | undefined;
      }
    | undefined;
  /** Needs a tenant named by the request, else answers 404. */
  readonly requestedTenant?: Probe | undefined;
  /** Throws an unhandled exception. */
  readonly failing?:
    | string
    | {
        readonly request: Probe;
        /** The message of the exception, which no answer may contain. */
        readonly message?: string | undefined;
      }
    | undefined;
  /** Accepts any JSON object, with POST or the given method. */
  readonly json?: Probe | undefined;
  /** Rejects the given body as invalid. */
  readonly invalid?:
    | {
        readonly request: Probe;
        /** A member of the body that is rejected when it is a long text. Default: none. */
        readonly longMember?: string | undefined;
      }
    | undefined;
  /** A route with a parameter: the kit replaces `{random}` in its path. */
  readonly templated?:
    | {
        readonly request: Probe;
        /** The template as the service writes it, including the mount: `/items/:id`. */
        readonly template: string;
      }
    | undefined;
  /** Serves an HTML page. */
  readonly html?: Probe | undefined;
  /** Makes an outbound call to the URL in its path: the kit replaces `{url}`. */
  readonly outbound?: Probe | undefined;
  /** Answers after the request timeout. */
  readonly slow?: Probe | undefined;
  /** Starts its answer at once and ends it after the request timeout. */
  readonly streaming?: Probe | undefined;
  readonly dependencies?: readonly DependencyProbe[] | undefined;
  /** Signs a user in, for a service that issues tokens. */
  readonly session?: SessionProbe | undefined;
  /** An identity provider for sign-in. */
  readonly federated?: FederatedProbe | undefined;
}

/** How the service resolves tenants. */
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

/** Settings of the service that differ from the defaults. */
export interface Limits {
  /** Default: 2,097,152. */
  readonly maxBodyBytes?: number | undefined;
  /** Default: 30. */
  readonly requestTimeoutSeconds?: number | undefined;
  /** Default: 2.0. */
  readonly readinessTimeoutSeconds?: number | undefined;
}

/** Options of {@link checkConformance}. */
export interface ConformanceOptions {
  /** Base URL of the service under test. Required. */
  readonly url: string;
  /** Base URL of a second replica of the same service. Default: none; rules that need two replicas are not checked. */
  readonly replica?: string | undefined;
  /** Default: `full`. */
  readonly profile?: "full" | "reduced" | undefined;
  /** Default: `metrics` and `security_headers`, `auth` with keys or sessions, `tenancy` with its settings. */
  readonly features?: readonly Feature[] | undefined;
  /** Default: none; rules that need a token are not checked. */
  readonly keys?: Keys | undefined;
  readonly probes?: Probes | undefined;
  readonly tenancy?: TenancySettings | undefined;
  readonly limits?: Limits | undefined;
  /** Whether to check the house rules too. Default: false. */
  readonly house?: boolean | undefined;
  /** Ids of the rules to check. Default: all. */
  readonly only?: readonly string[] | undefined;
  /**
   * What the run must see: names of features and probes as in `probes.json`, and `keys`, `log`, `replica`, `key_set`,
   * `hook`, `store`, `rotation`, `openapi`. The service does not conform if no rule that needs one of them was judged.
   * Default: none.
   */
  readonly require?: readonly string[] | undefined;
  /** The most rules that may be not applicable for a service to conform. Default: half of those checked. */
  readonly maxNotApplicable?: number | undefined;
  /**
   * `host:port` where the kit serves its own key set at every path, which the service is configured to fetch (mode
   * `jwks`). Default: none.
   */
  readonly serveKeys?: string | undefined;
  /** The service's log: a file, or a function that returns the text so far. Default: none. */
  readonly log?: string | (() => string | Promise<string>) | undefined;
  /** Seconds for one request. Default: 10. */
  readonly requestSeconds?: number | undefined;
  /** Seconds for one check. Default: 60. */
  readonly checkSeconds?: number | undefined;
  /** Seconds for the whole run. Default: 300. */
  readonly totalSeconds?: number | undefined;
  /** Seconds to wait until the service fetches a new key, which it may do once a minute. Default: 65. */
  readonly keySetPatienceSeconds?: number | undefined;
  /** The number of concurrent checks. Default: 8. */
  readonly concurrency?: number | undefined;
}
