import type { Probe } from "./requests.ts";

/**
 * Every option of the kit, by the object that it belongs to. Types, defaults, checks, command line, `--help` and the tables
 * of the README derive from it. Files write the names with underscores.
 *
 * - `kind`: a name of {@link Values}, or of another object here
 * - `required`: else `default`, or `otherwise` for a default that is computed; without either it is absent
 * - `orText`: a text is short for the object with that `request`
 * - `argument`: the value on the command line, where the option is `--` and its name, or `flag`
 */
export const definition = {
  options: {
    url: { kind: "text", required: true, meaning: "base URL of the service" },
    replica: { kind: "text", argument: "URL", meaning: "base URL of a second replica of the same service" },
    profile: {
      kind: "profile",
      default: "full",
      argument: "full|reduced",
      meaning: "what the service claims to be: `full` or `reduced`",
    },
    features: {
      kind: "features",
      otherwise: "as above",
      argument: "LIST",
      meaning:
        "the service's features: `auth`, `tenancy`, `metrics`, `telemetry`, `cors`, `trusted_hosts`, `security_headers`",
    },
    keys: { kind: "keys", argument: "FILE", meaning: "how to make tokens that the service accepts" },
    probes: {
      kind: "probes",
      argument: "FILE",
      meaning: "routes to try; the file also has tenancy, limits and features",
    },
    tenancy: { kind: "tenancy", meaning: "how the service resolves tenants" },
    limits: {
      kind: "limits",
      otherwise: "those of the contract",
      meaning: "limits that the service configures",
    },
    house: { kind: "boolean", default: false, argument: "", meaning: "whether to check the house rules too" },
    only: { kind: "texts", otherwise: "all", argument: "ID,ID", meaning: "ids of the rules to check" },
    require: {
      kind: "texts",
      default: [],
      argument: "NAME",
      meaning: "names that must be seen, for example `session`, `log`, `slow`; otherwise the exit code is 3",
    },
    maxNotApplicable: {
      kind: "number",
      otherwise: "half of the rules",
      argument: "N",
      meaning: "the most rules that may be not applicable; with more the exit code is 3",
    },
    serveKeys: {
      kind: "text",
      argument: "HOST:PORT",
      meaning: "where the kit serves a key set that the service fetches (mode `jwks`)",
    },
    log: {
      kind: "log",
      argument: "FILE",
      meaning:
        "what the service writes to its standard output: a file, or a function that returns all text so far",
    },
    requestSeconds: { kind: "number", default: 10, meaning: "the most that one request may take" },
    checkSeconds: { kind: "number", default: 60, meaning: "the most that one check may take" },
    totalSeconds: {
      kind: "number",
      default: 300,
      flag: "timeout",
      argument: "SECONDS",
      meaning: "the most that the whole run may take",
    },
    keySetPatienceSeconds: {
      kind: "number",
      default: 65,
      meaning: "how long the service may take to fetch a new key, which it may do once a minute",
    },
    concurrency: { kind: "number", default: 8, meaning: "the number of concurrent checks" },
  },
  keys: {
    algorithm: {
      kind: "algorithm",
      required: true,
      meaning: "the kit's signing algorithm: RS, PS, ES, HS with 256, 384, 512, or EdDSA",
    },
    algorithms: {
      kind: "algorithms",
      otherwise: "`algorithm` alone",
      meaning: "all algorithms that the service accepts",
    },
    secret: { kind: "text", meaning: "the shared secret of HS256, HS384, HS512" },
    privateKey: {
      kind: "key",
      meaning: "for all other algorithms: PEM or JWK; not needed when the kit serves the key set",
    },
    privateKeyFile: { kind: "text", fileOnly: true, meaning: "the same in a file, relative to `keys.json`" },
    kid: { kind: "text", meaning: "the `kid` in the header of every token" },
    issuer: { kind: "text", meaning: "the `iss` that the service requires" },
    audience: { kind: "text", meaning: "the `aud` that the service requires" },
    leeway: { kind: "number", default: 30, meaning: "the service's leeway in seconds" },
    subject: { kind: "text", default: "conformance-kit", meaning: "`sub` of the tokens" },
    scopeClaim: { kind: "text", default: "scope", meaning: "name of the claim with the scopes" },
    rolesClaim: { kind: "text", default: "roles", meaning: "name of the claim with the roles" },
    tenantClaim: { kind: "text", default: "tenant_id", meaning: "name of the claim with the tenant" },
    tenant: {
      kind: "text",
      otherwise: "with tenancy the first of `tenants`",
      meaning: "tenant of ordinary tokens",
    },
    scopes: {
      kind: "texts",
      default: [],
      meaning: "scopes that other probes than `scoped` need, for example `json`",
    },
    roles: { kind: "texts", default: [], meaning: "roles that other probes than `role` need" },
  },
  probes: {
    open: {
      kind: "request",
      otherwise: "`/health`",
      argument: "ROUTE",
      meaning: "answers 2xx to every caller",
    },
    protected: {
      kind: "request",
      otherwise: "that of `scoped`",
      argument: "ROUTE",
      meaning: "needs a caller without rights; with the route of `scoped` AUTH-14 is not judged",
    },
    scoped: {
      kind: "scoped",
      argument: '"ROUTE a,b"',
      meaning: "needs all of `scopes`; with a single scope AUTH-15 is not judged",
    },
    role: { kind: "role", argument: '"ROUTE x,y"', meaning: "needs one of `roles`" },
    mixed: { kind: "request", argument: "ROUTE", meaning: "serves authenticated and anonymous callers" },
    tenant: {
      kind: "tenant",
      orText: true,
      argument: "ROUTE",
      meaning: "needs a tenant; ideally answers it in `member`, else only the status is judged",
    },
    requestedTenant: { kind: "request", meaning: "needs a tenant named by the request, else answers 404" },
    failing: {
      kind: "failing",
      orText: true,
      argument: "ROUTE",
      meaning: "throws an unhandled exception; `message` must not reach the client",
    },
    json: {
      kind: "request",
      flag: "json-body",
      argument: "ROUTE",
      meaning: "accepts a JSON object of up to `limits.max_body_bytes`",
    },
    invalid: {
      kind: "invalid",
      meaning: "rejects the given body; `long_member` is rejected when it is a long text",
    },
    templated: {
      kind: "templated",
      meaning:
        "has a parameter, `{random}`; `template` is the route as the service writes it, with its mount",
    },
    html: { kind: "request", meaning: "serves an HTML page" },
    outbound: {
      kind: "request",
      meaning: "calls the URL given as `{url}`; the kit listens there, on a free port of 127.0.0.1",
    },
    slow: { kind: "request", meaning: "answers after the request timeout" },
    streaming: {
      kind: "request",
      meaning: "starts its answer at once and ends it after the request timeout",
    },
    dependencies: {
      kind: "dependencies",
      meaning:
        "requests that break and repair a dependency; `fault` (`fails`, `hangs`, `throws`) is what its check does meanwhile",
    },
    session: { kind: "session", meaning: "signs a user in, see [Sessions](#sessions)" },
    federated: { kind: "federated", meaning: "a provider for sign-in, see [Sessions](#sessions)" },
  },
  scoped: {
    request: { kind: "request", required: true, meaning: "the route" },
    scopes: { kind: "texts", required: true, meaning: "its scopes" },
  },
  role: {
    request: { kind: "request", required: true, meaning: "the route" },
    roles: { kind: "texts", required: true, meaning: "its roles" },
  },
  tenant: {
    request: { kind: "request", required: true, meaning: "the route" },
    member: { kind: "text", default: "tenant", meaning: "the member of the answer with the tenant" },
  },
  failing: {
    request: { kind: "request", required: true, meaning: "the route" },
    message: { kind: "text", meaning: "the message of the exception" },
  },
  invalid: {
    request: { kind: "request", required: true, meaning: "the route, with the body that it rejects" },
    longMember: { kind: "text", meaning: "a member of the body" },
  },
  templated: {
    request: { kind: "request", required: true, meaning: "the route" },
    template: { kind: "text", required: true, meaning: "the template: `/items/:id`" },
  },
  dependency: {
    check: { kind: "text", required: true, meaning: "name of its check in `/ready`" },
    critical: { kind: "boolean", required: true, meaning: "whether the check is critical" },
    fault: { kind: "fault", default: "fails", meaning: "what the check does while the dependency is broken" },
    break: {
      kind: "request",
      required: true,
      meaning: "breaks it; a URL may name another server, for example a proxy",
    },
    restore: { kind: "request", required: true, meaning: "repairs it" },
  },
  tenancy: {
    sources: { kind: "sources", default: ["token", "subdomain"], meaning: "sources of the tenant, in order" },
    baseDomain: {
      kind: "text",
      default: "",
      meaning: "the domain above the tenants, for the source `subdomain`",
    },
    pathPrefix: { kind: "text", default: "/t", meaning: "the path above the tenants" },
    requireTenant: { kind: "boolean", default: false, meaning: "whether every request needs a tenant" },
    trustUnscopedPrincipals: {
      kind: "boolean",
      default: false,
      meaning: "whether a caller without a tenant acts in the named one",
    },
    tenants: { kind: "texts", default: ["acme", "globex"], meaning: "two existing tenants" },
  },
  limits: {
    maxBodyBytes: { kind: "number", default: 2_097_152, meaning: "the longest body" },
    requestTimeoutSeconds: { kind: "number", default: 30, meaning: "the request timeout" },
    readinessTimeoutSeconds: { kind: "number", default: 2, meaning: "the timeout of a readiness check" },
  },
  session: {
    request: {
      kind: "request",
      required: true,
      meaning: "signs a user in and answers a pair as JSON, a new session at every call",
    },
    accessToken: {
      kind: "name",
      default: "access_token",
      meaning: "the member of that answer with the access token; dots lead into objects",
    },
    refreshToken: { kind: "name", default: "refresh_token", meaning: "the member with the refresh token" },
    route: {
      kind: "request",
      otherwise: "`protected`, else `/auth/me`",
      meaning: "a route for that user, which shows whether an access token is accepted",
    },
    graceSeconds: {
      kind: "amount",
      default: 10,
      meaning:
        "`refresh_grace_seconds` of the service; the kit waits until it is over, so configure 1 or 2 for a test",
    },
    accessSeconds: { kind: "amount", default: 900, meaning: "lifetime of an access token" },
    refreshSeconds: { kind: "amount", default: 2_592_000, meaning: "lifetime of a refresh token" },
    lifetimeDays: { kind: "amount", default: 0, meaning: "`session_lifetime_days`; 0 means unlimited" },
    hook: { kind: "hook", meaning: "requests that control the hook that the service calls at every refresh" },
    store: { kind: "store", meaning: "requests that break and repair the revocation store" },
    rotation: { kind: "rotation", meaning: "requests that rotate the signing key" },
  },
  hook: {
    decline: { kind: "request", meaning: "makes it return undefined" },
    fail: { kind: "request", meaning: "makes it throw" },
    grant: { kind: "scoped", meaning: "makes it return these `scopes`" },
    restore: { kind: "request", required: true, meaning: "restores the scopes of the sign-in" },
  },
  store: {
    break: { kind: "request", required: true, meaning: "breaks the store" },
    restore: { kind: "request", required: true, meaning: "repairs it" },
    failOpen: { kind: "boolean", default: true, meaning: "`revocation_fail_open` of the service" },
  },
  rotation: {
    add: {
      kind: "request",
      meaning:
        "publishes the next key; without it the run does not judge whether a key is published before it signs",
    },
    promote: { kind: "request", required: true, meaning: "makes the service sign with the next key" },
  },
  federated: {
    provider: { kind: "name", required: true, meaning: "its name in `/auth/<name>/start`" },
    authorizationEndpoint: {
      kind: "name",
      otherwise: "any address",
      meaning: "where users are redirected to",
    },
  },
} as const;

export const features = [
  "auth",
  "tenancy",
  "metrics",
  "telemetry",
  "cors",
  "trusted_hosts",
  "security_headers",
] as const;

/** A feature that the service declares. Checks of other features are not applicable. */
export type Feature = (typeof features)[number];

export const algorithms = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "HS256",
  "HS384",
  "HS512",
] as const;

export type Algorithm = (typeof algorithms)[number];

/** The type of every kind of value. */
interface Values {
  readonly text: string;
  /** A text that is not empty. */
  readonly name: string;
  readonly texts: readonly string[];
  readonly number: number;
  /** A number from 0 on. */
  readonly amount: number;
  readonly boolean: boolean;
  readonly request: Probe;
  readonly log: string | (() => string | Promise<string>);
  /** PEM text or a JWK. */
  readonly key: string | Readonly<Record<string, unknown>>;
  readonly algorithm: Algorithm;
  readonly algorithms: readonly Algorithm[];
  readonly features: readonly Feature[];
  readonly profile: "full" | "reduced";
  readonly sources: readonly ("token" | "user" | "subdomain" | "path" | "header")[];
  readonly fault: "fails" | "hangs" | "throws";
  readonly dependencies: readonly DependencyProbe[];
}

type Definition = typeof definition;
/** The name of an object of the definition. */
export type Shape = keyof Definition;

type ValueOf<Member> = Member extends { readonly kind: infer Kind }
  ? | (Kind extends keyof Values ? Values[Kind] : Kind extends Shape ? OptionsOf<Kind> : never)
    | (Member extends { readonly orText: true } ? string : never)
  : never;

type IsRequired = { readonly required: true };
type FileOnly = { readonly fileOnly: true };

/** An object as a user writes it. */
export type OptionsOf<S extends Shape> = {
  readonly [K in keyof Definition[S] as Definition[S][K] extends IsRequired ? K : never]: ValueOf<
    Definition[S][K]
  >;
} & {
  readonly [K in keyof Definition[S] as Definition[S][K] extends IsRequired | FileOnly ? never : K]?:
    ValueOf<Definition[S][K]> | undefined;
};

/** An object with its defaults applied. */
export type Resolved<S extends Shape> = {
  readonly [K in keyof Definition[S]]:
    | ValueOf<Definition[S][K]>
    | (Definition[S][K] extends IsRequired | { readonly default: unknown } ? never : undefined);
};

/** Options of {@link checkConformance}. */
export type ConformanceOptions = OptionsOf<"options">;
/** How to make tokens that the service accepts. */
export type Keys = OptionsOf<"keys">;
/** Requests that demonstrate rules. Checks without their probe are not applicable. */
export type Probes = OptionsOf<"probes">;
/** How the service resolves tenants. */
export type TenancySettings = OptionsOf<"tenancy">;
/** Settings of the service that differ from the defaults. */
export type Limits = OptionsOf<"limits">;
/** A dependency that the kit can break and repair. */
export type DependencyProbe = OptionsOf<"dependency">;
/** How the kit gets sessions of a service that issues tokens. */
export type SessionProbe = OptionsOf<"session">;
/** Requests that control the hook that the service calls at every refresh. */
export type HookProbe = OptionsOf<"hook">;
/** Requests that break and repair the revocation store. */
export type StoreProbe = OptionsOf<"store">;
/** Requests that rotate the service's signing key. */
export type RotationProbe = OptionsOf<"rotation">;
/** An identity provider for sign-in. */
export type FederatedProbe = OptionsOf<"federated">;

/** A member of the definition, as all of them can be read. */
export interface Member {
  readonly kind: string;
  readonly required?: true;
  readonly default?: unknown;
  readonly otherwise?: string;
  readonly orText?: true;
  readonly fileOnly?: true;
  readonly flag?: string;
  readonly argument?: string;
  readonly meaning: string;
}

/** Returns the members of an object by name. */
export function membersOf(shape: Shape): Readonly<Record<string, Member>> {
  return definition[shape];
}

/** Whether a kind is the name of an object. */
export function isShape(kind: string): kind is Shape {
  return Object.hasOwn(definition, kind);
}

/** Returns an object with its defaults applied; a text is short for the object with that `request`. */
export function resolved<S extends Shape>(shape: S, given: OptionsOf<S> | string): Resolved<S> {
  const values: Readonly<Record<string, unknown>> =
    typeof given === "string" ? { request: given } : (given ?? {});
  return Object.fromEntries(
    Object.entries(membersOf(shape)).map(([name, { default: value }]) => [name, values[name] ?? value]),
  ) as Resolved<S>;
}

/** The options with all defaults applied. */
export interface Settings extends Omit<
  Resolved<"options">,
  "url" | "replica" | "features" | "keys" | "probes" | "tenancy" | "limits" | "only"
> {
  readonly url: URL;
  readonly replica: URL | undefined;
  readonly features: ReadonlySet<Feature>;
  readonly keys: Resolved<"keys"> | undefined;
  /** The names of the claims, also without keys. */
  readonly claims: Pick<Resolved<"keys">, "scopeClaim" | "rolesClaim" | "tenantClaim">;
  readonly probes: ResolvedProbes;
  readonly tenancy: Resolved<"tenancy">;
  readonly limits: Resolved<"limits">;
  /** The tenant claim of ordinary tokens. */
  readonly tokenTenant: string | undefined;
  readonly only: ReadonlySet<string> | undefined;
}

/** The probes with their short forms expanded. */
export interface ResolvedProbes extends Omit<Resolved<"probes">, "tenant" | "failing" | "session"> {
  readonly tenant: Resolved<"tenant"> | undefined;
  readonly failing: Resolved<"failing"> | undefined;
  readonly session: ResolvedSession | undefined;
}

export type ResolvedSession = Resolved<"session"> & { readonly route: Probe };
