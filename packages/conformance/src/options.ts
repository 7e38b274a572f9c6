/** Optional details of an option. */
interface Details {
  readonly default?: unknown;
  /** Describes a computed default. Without `default` and `otherwise` the option has no default. */
  readonly otherwise?: string;
  /** Whether a string is shorthand for `{ request: string }`. */
  readonly orText?: true;
  /** Whether the option is only allowed in a file. */
  readonly fileOnly?: true;
  /** Placeholder for the value on the command line, where the option is `--` and its name, or `--` and `flag`. */
  readonly argument?: string;
  readonly flag?: string;
  readonly required?: true;
}

/**
 * Defines an option that may be omitted.
 * @param kind a name from {@link Values}, or another key of the definition
 */
function optional<const Kind extends string, const More extends Details = object>(
  kind: Kind,
  meaning: string,
  details?: More,
): { readonly kind: Kind; readonly meaning: string } & More {
  return { kind, meaning, ...(details as More) };
}

function required<const Kind extends string>(kind: Kind, meaning: string) {
  return optional(kind, meaning, { required: true });
}

/**
 * Every option of the kit, grouped by the object that contains it. Types, defaults, checks, command line, `--help` and
 * the README tables derive from this. In files the names are written with underscores.
 */
export const definition = {
  options: {
    url: required("text", "base URL of the service"),
    replica: optional("text", "base URL of a second replica of the same service", { argument: "URL" }),
    profile: optional("profile", "the profile that the service claims: `full` or `reduced`", {
      default: "full",
      argument: "full|reduced",
    }),
    features: optional(
      "features",
      "the service's features: `auth`, `tenancy`, `metrics`, `telemetry`, `gateway`, `openapi`, `rate_limit`, `cors`, `trusted_hosts`, `security_headers`",
      { otherwise: "see `--features` above", argument: "LIST" },
    ),
    keys: optional("keys", "how to make tokens that the service accepts", { argument: "FILE" }),
    probes: optional("probes", "routes to try; the file also has tenancy, limits and features", {
      argument: "FILE",
    }),
    tenancy: optional("tenancy", "how the service resolves tenants"),
    limits: optional("limits", "limits that the service configures", { otherwise: "those of the contract" }),
    house: optional("boolean", "whether to check the conventions of this repository too", {
      default: false,
      argument: "",
    }),
    only: optional("texts", "ids of the rules to check", { otherwise: "all", argument: "ID,ID" }),
    require: optional(
      "texts",
      "names on which at least one checked rule must depend, for example `session`, `log`, `slow`; else the exit code is 3",
      { default: [], argument: "NAME" },
    ),
    maxNotApplicable: optional(
      "number",
      "maximum number of rules that are not applicable; if more are, the exit code is 3",
      { otherwise: "half of the rules", argument: "N" },
    ),
    serveKeys: optional("text", "where the kit serves a key set that the service fetches (mode `jwks`)", {
      argument: "HOST:PORT",
    }),
    serveOtlp: optional("text", "where the kit receives the spans that the service exports over OTLP/HTTP", {
      argument: "HOST:PORT",
    }),
    serveUpstream: optional("text", "where the kit is the service behind the gateway", {
      argument: "HOST:PORT",
    }),
    log: optional(
      "log",
      "what the service writes to its standard output: a file, or a function that returns all text so far",
      { argument: "FILE" },
    ),
    requestSeconds: optional("number", "time limit of one request", { default: 10 }),
    checkSeconds: optional("number", "time limit of one check", { default: 60 }),
    totalSeconds: optional("number", "time limit of the whole run", {
      default: 300,
      flag: "timeout",
      argument: "SECONDS",
    }),
    keySetPatienceSeconds: optional(
      "number",
      "how long the service may take to fetch a new key; it may fetch only once a minute",
      { default: 65 },
    ),
    concurrency: optional("number", "the number of concurrent checks", { default: 8 }),
  },
  keys: {
    algorithm: required(
      "algorithm",
      "the kit's signing algorithm: RS, PS, ES, HS with 256, 384, 512, or EdDSA",
    ),
    algorithms: optional("algorithms", "all algorithms that the service accepts", {
      otherwise: "`algorithm` alone",
    }),
    secret: optional("text", "the shared secret of HS256, HS384, HS512"),
    privateKey: optional(
      "key",
      "for all other algorithms: PEM or JWK; not needed when the kit serves the key set",
    ),
    privateKeyFile: optional("text", "path of a file with the private key, relative to `keys.json`", {
      fileOnly: true,
    }),
    kid: optional("text", "the `kid` in the header of every token"),
    issuer: optional("text", "the `iss` that the service requires"),
    audience: optional("text", "the `aud` that the service requires"),
    leeway: optional("number", "the service's leeway in seconds", { default: 30 }),
    subject: optional("text", "`sub` of the tokens", { default: "conformance-kit" }),
    scopeClaim: optional("text", "name of the claim with the scopes", { default: "scope" }),
    rolesClaim: optional("text", "name of the claim with the roles", { default: "roles" }),
    tenantClaim: optional("text", "name of the claim with the tenant", { default: "tenant_id" }),
    tenant: optional("text", "tenant of ordinary tokens", {
      otherwise: "with tenancy, the first of `tenants`",
    }),
    scopes: optional("texts", "scopes that probes other than `scoped` need, for example `json`", {
      default: [],
    }),
    roles: optional("texts", "roles that probes other than `role` need", { default: [] }),
  },
  probes: {
    open: optional("request", "returns 2xx to every caller", { otherwise: "`/health`", argument: "ROUTE" }),
    protected: optional(
      "request",
      "needs a verified caller, but no scope or role; if it is the same route as `scoped`, AUTH-14 is not checked",
      { otherwise: "the route of `scoped`", argument: "ROUTE" },
    ),
    scoped: optional("scoped", "needs all of `scopes`; if there is only one, AUTH-15 is not checked", {
      argument: '"ROUTE a,b"',
    }),
    role: optional("role", "needs one of `roles`", { argument: '"ROUTE x,y"' }),
    mixed: optional("request", "serves authenticated and anonymous callers", { argument: "ROUTE" }),
    tenant: optional(
      "tenant",
      "needs a tenant; ideally returns it in `member`, otherwise only the status is checked",
      { orText: true, argument: "ROUTE" },
    ),
    requestedTenant: optional("request", "needs a tenant named by the request, else returns 404"),
    failing: optional("failing", "throws an unhandled exception; `message` must not reach the client", {
      orText: true,
      argument: "ROUTE",
    }),
    json: optional("request", "accepts a JSON object of up to `limits.max_body_bytes`", {
      flag: "json-body",
      argument: "ROUTE",
    }),
    invalid: optional("invalid", "rejects the given body, and a body whose `long_member` is a long string"),
    templated: optional(
      "templated",
      "has a parameter, `{random}`; `template` is the route template as the service reports it, including its mount path",
    ),
    html: optional("request", "serves an HTML page"),
    outbound: optional(
      "request",
      "calls the URL given as `{url}` and does not forward `Authorization`; the kit listens on a free port of 127.0.0.1",
    ),
    gateway: optional(
      "request",
      "is passed on by the service, a gateway, to the address of `serveUpstream`, with any further segments of the path",
    ),
    docs: optional(
      "request",
      "the interactive page of `/openapi.json`; in `prod`, without this probe, the page must be absent",
      { otherwise: "`/docs`" },
    ),
    limited: optional(
      "limited",
      "returns 2xx to every caller within a rate limit that no other probe shares, see [Rate limits](#rate-limits)",
      { orText: true },
    ),
    limitStore: optional("limitStore", "requests that break and repair the store of the rate limits"),
    slow: optional("request", "responds after the request timeout"),
    streaming: optional("request", "starts its response immediately and ends it after the request timeout"),
    dependencies: optional(
      "dependencies",
      "requests that break and repair a dependency; its check then does what `fault` says: `fails`, `hangs` or `throws`",
    ),
    session: optional("session", "signs a user in, see [Sessions](#sessions)"),
    federated: optional("federated", "a provider for sign-in, see [Sessions](#sessions)"),
  },
  scoped: {
    request: required("request", "the route"),
    scopes: required("texts", "its scopes"),
  },
  role: {
    request: required("request", "the route"),
    roles: required("texts", "its roles"),
  },
  tenant: {
    request: required("request", "the route"),
    member: optional("text", "the member of the response with the tenant", { default: "tenant" }),
  },
  failing: {
    request: required("request", "the route"),
    message: optional("text", "the message of the exception"),
  },
  invalid: {
    request: required("request", "the route, with the body that it rejects"),
    longMember: optional("text", "a member of the body"),
  },
  templated: {
    request: required("request", "the route"),
    template: required("text", "the template: `/items/:id`"),
  },
  limited: {
    request: required("request", "the route"),
    limit: optional("number", "its limit, in requests per window", { default: 100 }),
    windowSeconds: optional("number", "length of the window in seconds", { default: 60 }),
    burst: optional("number", "requests that it admits in one burst, from 4 to 200", {
      otherwise: "`limit`",
    }),
  },
  limitStore: {
    break: required("request", "breaks the store of the rate limits"),
    restore: required("request", "repairs the store"),
  },
  dependency: {
    check: required("text", "name of its check in `/ready`"),
    critical: required("boolean", "whether the check is critical"),
    fault: optional("fault", "what the check does while the dependency is broken", { default: "fails" }),
    break: required("request", "breaks the dependency; a URL may name another server, for example a proxy"),
    restore: required("request", "repairs the dependency"),
  },
  tenancy: {
    sources: optional("sources", "sources of the tenant, in order", { default: ["token", "subdomain"] }),
    baseDomain: optional("text", "the parent domain of the tenants, for the source `subdomain`", {
      default: "",
    }),
    pathPrefix: optional("text", "the path prefix before the tenant", { default: "/t" }),
    requireTenant: optional("boolean", "whether every request needs a tenant", { default: false }),
    trustUnscopedPrincipals: optional(
      "boolean",
      "whether a caller without a tenant may act in the tenant that the request names",
      { default: false },
    ),
    tenants: optional("texts", "two existing tenants", { default: ["acme", "globex"] }),
  },
  limits: {
    maxBodyBytes: optional("number", "maximum size of a body, in bytes", { default: 2_097_152 }),
    requestTimeoutSeconds: optional("number", "the request timeout", { default: 30 }),
    readinessTimeoutSeconds: optional("number", "the timeout of a readiness check", { default: 2 }),
  },
  session: {
    request: required(
      "request",
      "signs a user in and returns a token pair as JSON, with a new session at every call",
    ),
    accessToken: optional(
      "name",
      "the member of that response with the access token; use dots for nested members",
      {
        default: "access_token",
      },
    ),
    refreshToken: optional("name", "the member with the refresh token", { default: "refresh_token" }),
    route: optional("request", "a route for that user, which shows whether an access token is accepted", {
      otherwise: "`protected`, else `/auth/me`",
    }),
    graceSeconds: optional(
      "amount",
      "`refresh_grace_seconds` of the service; the kit waits for this time, so configure 1 or 2 for a test",
      { default: 10 },
    ),
    accessSeconds: optional("amount", "lifetime of an access token", { default: 900 }),
    refreshSeconds: optional("amount", "lifetime of a refresh token", { default: 2_592_000 }),
    lifetimeDays: optional("amount", "`session_lifetime_days`; 0 means unlimited", { default: 0 }),
    hook: optional("hook", "requests that control the hook that the service calls at every refresh"),
    store: optional("store", "requests that break and repair the revocation store"),
    rotation: optional("rotation", "requests that rotate the signing key"),
  },
  hook: {
    decline: optional("request", "makes the hook return undefined"),
    fail: optional("request", "makes the hook throw"),
    grant: optional("scoped", "makes the hook return these `scopes`"),
    restore: required("request", "restores the normal behaviour: the scopes of the sign-in"),
  },
  store: {
    break: required("request", "breaks the store"),
    restore: required("request", "repairs the store"),
    failOpen: optional("boolean", "`revocation_fail_open` of the service", { default: true }),
  },
  rotation: {
    add: optional(
      "request",
      "publishes the next key; without this request the kit does not check whether a key is published before the service signs with it",
    ),
    promote: required("request", "makes the service sign with the next key"),
  },
  federated: {
    provider: required("name", "the provider's name in `/auth/<name>/start`"),
    authorizationEndpoint: optional("name", "where users are redirected to", { otherwise: "any address" }),
  },
};

export const features = [
  "auth",
  "tenancy",
  "metrics",
  "telemetry",
  "gateway",
  "openapi",
  "rate_limit",
  "cors",
  "trusted_hosts",
  "security_headers",
] as const;

/** A feature that the service declares. Checks of undeclared features are not applicable. */
export type Feature = (typeof features)[number];

/** The signature algorithms, in groups that one key supports. */
export const algorithmGroups = [
  ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ["ES256"],
  ["ES384"],
  ["ES512"],
  ["EdDSA"],
  ["HS256", "HS384", "HS512"],
] as const;

export const algorithms = algorithmGroups.flat();

export type Algorithm = (typeof algorithms)[number];

/** A request: `"/path"`, `"POST /path"`, or an object. */
export type Probe =
  | string
  | {
      readonly method?: string | undefined;
      readonly path: string;
      readonly headers?: Readonly<Record<string, string>> | undefined;
      /** The request body, sent as JSON. */
      readonly body?: unknown;
    };

/** The type of each kind of value. */
interface Values {
  readonly text: string;
  /** A non-empty string. */
  readonly name: string;
  readonly texts: readonly string[];
  readonly number: number;
  /** A number, at least 0. */
  readonly amount: number;
  readonly boolean: boolean;
  readonly request: Probe;
  readonly log: string | (() => string | Promise<string>);
  /** A PEM string or a JWK. */
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
/** The name of an object in the definition. */
export type Shape = keyof Definition;

type ValueOf<Member> = Member extends { readonly kind: infer Kind }
  ? | (Kind extends keyof Values ? Values[Kind] : Kind extends Shape ? OptionsOf<Kind> : never)
    | (Member extends { readonly orText: true } ? string : never)
  : never;

type IsRequired = { readonly required: true };
type FileOnly = { readonly fileOnly: true };

/** The type of an options object as a user writes it. */
export type OptionsOf<S extends Shape> = {
  readonly [K in keyof Definition[S] as Definition[S][K] extends IsRequired ? K : never]: ValueOf<
    Definition[S][K]
  >;
} & {
  readonly [K in keyof Definition[S] as Definition[S][K] extends IsRequired | FileOnly ? never : K]?:
    ValueOf<Definition[S][K]> | undefined;
};

/** The type of an options object with its defaults applied. */
export type Resolved<S extends Shape> = {
  readonly [K in keyof Definition[S]]:
    | ValueOf<Definition[S][K]>
    | (Definition[S][K] extends IsRequired | { readonly default: unknown } ? never : undefined);
};

/** Options of {@link checkConformance}. */
export type ConformanceOptions = OptionsOf<"options">;
/** Key and claims of tokens that the service accepts. */
export type Keys = OptionsOf<"keys">;
/** Requests with which the checks observe the service. A check whose probe is missing is not applicable. */
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

/** The common type of all members of the definition. */
export interface Member extends Details {
  readonly kind: string;
  readonly meaning: string;
}

/** Returns the definition's members for a shape, by name. */
export function membersOf(shape: Shape): Readonly<Record<string, Member>> {
  return definition[shape];
}

/** Returns whether a kind names a shape. */
export function isShape(kind: string): kind is Shape {
  return Object.hasOwn(definition, kind);
}

/** Returns an options object with its defaults applied. A string is shorthand for `{ request: string }`. */
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
  /** The names of the claims, present even without keys. */
  readonly claims: Pick<Resolved<"keys">, "scopeClaim" | "rolesClaim" | "tenantClaim">;
  readonly probes: ResolvedProbes;
  readonly tenancy: Resolved<"tenancy">;
  readonly limits: Resolved<"limits">;
  /** The tenant claim of ordinary tokens. */
  readonly tokenTenant: string | undefined;
  readonly only: ReadonlySet<string> | undefined;
}

/** The probes with their short forms expanded. */
export interface ResolvedProbes extends Omit<
  Resolved<"probes">,
  "tenant" | "failing" | "limited" | "session"
> {
  readonly limited: LimitedProbe | undefined;
  readonly tenant: Resolved<"tenant"> | undefined;
  readonly failing: Resolved<"failing"> | undefined;
  readonly session: ResolvedSession | undefined;
}

/** A route with a rate limit, and the values of that limit. */
export type LimitedProbe = Resolved<"limited"> & { readonly burst: number };

export type ResolvedSession = Resolved<"session"> & { readonly route: Probe };
