import type { Algorithm, Feature, Probe } from "./option-values.ts";
import { type Details, optional, required } from "./define-option.ts";
import { probeDefinition } from "./probe-definition.ts";

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
    serveUpstream: optional("text", "where the kit acts as the upstream of the gateway", {
      argument: "HOST:PORT",
    }),
    log: optional(
      "log",
      "what the service writes to its standard output: a file, or a function that returns all text so far",
      { argument: "FILE" },
    ),
    requestSeconds: optional("seconds", "time limit of one request", { default: 10 }),
    checkSeconds: optional("seconds", "time limit of one check", { default: 60 }),
    totalSeconds: optional("seconds", "time limit of the whole run", {
      default: 300,
      flag: "timeout",
      argument: "SECONDS",
    }),
    keySetPatienceSeconds: optional(
      "amount",
      "how long the service may take to fetch a new key; it may fetch only once a minute",
      { default: 65 },
    ),
    concurrency: optional("count", "the number of concurrent checks, 1 to 100", { default: 8 }),
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
    leeway: optional("amount", "the service's leeway in seconds", { default: 30 }),
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
    maxBodyBytes: optional("amount", "maximum size of a body, in bytes", { default: 2_097_152 }),
    requestTimeoutSeconds: optional("amount", "the request timeout", { default: 30 }),
    readinessTimeoutSeconds: optional("amount", "the timeout of a readiness check", { default: 2 }),
  },
  ...probeDefinition,
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
  /** A time limit: above 0, and at most what a timer of Node.js accepts. */
  readonly seconds: number;
  /** A whole number from 1 to 100. */
  readonly count: number;
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
