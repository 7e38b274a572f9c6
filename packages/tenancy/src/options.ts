import type { IncomingMessage } from "node:http";
import type { Logger } from "@svc/context";
import {
  boolean,
  ConfigurationError,
  func,
  type Kind,
  listOf,
  objectWith,
  oneOf,
  optional,
  resolveOptions,
  string,
  withDefault,
} from "@svc/options";
import { EXEMPT_PATH } from "./exempt-paths.ts";
import { RESERVED_SUBDOMAINS } from "./host.ts";
import { type Caller, TENANT_SOURCES, type TenantSource } from "./resolution.ts";
import { SLUG } from "./slug.ts";

/** Options of `tenancy()`. */
export interface TenancyOptions {
  /**
   * Where a tenant may come from, in order of trust (TEN-1). A signed source (`token`, `user`) outranks the others at
   * any position (TEN-8). Default: `["token", "subdomain"]`.
   */
  readonly sources?: readonly TenantSource[] | undefined;
  /** The domain whose subdomains are tenants, such as `example.com`; required by `subdomain` (TEN-2). Default: none. */
  readonly baseDomain?: string | undefined;
  /** Whether every request except those for exempt paths needs a tenant (TEN-3). Default: false. */
  readonly requireTenant?: boolean | undefined;
  /**
   * Whether a caller without a tenant may act in the one that the request names. The application must then check
   * membership itself (TEN-7). Default: false.
   */
  readonly trustUnscopedPrincipals?: boolean | undefined;
  /**
   * Whether an earlier middleware verifies callers. When false, a request without a caller is granted the tenant that
   * it names (TEN-9). Default: true.
   */
  readonly auth?: boolean | undefined;
  /**
   * Returns the verified caller of a request, or undefined. Must not return a promise. Default: the `principal` of the
   * request's context.
   */
  readonly callerOf?: ((req: IncomingMessage) => Caller | undefined) | undefined;
  /**
   * Returns the host that a request was sent to, for example from `X-Forwarded-Host` of a trusted proxy. Default: the
   * header `Host`.
   */
  readonly hostOf?: ((req: IncomingMessage) => string | undefined) | undefined;
  /** Path prefix in front of the tenant's segment (TEN-14). Default: `/t`. */
  readonly pathPrefix?: string | undefined;
  /** Labels before the base domain that name no tenant (TEN-13). Default: `RESERVED_SUBDOMAINS`. */
  readonly reservedSubdomains?: readonly string[] | undefined;
  /**
   * Paths that need no tenant, in addition to the built-in ones (TEN-16): `/about`, `POST /hooks/:name` (any one
   * segment), `/public/*` (one or more segments). Default: none.
   */
  readonly exemptPaths?: readonly string[] | undefined;
  /** Where the service runs. Only the warning logged at construction depends on it (TEN-22). Default: `prod`. */
  readonly env?: "local" | "dev" | "staging" | "prod" | undefined;
  /** Logs a warning at construction for risky settings. Default: none. */
  readonly logger?: Pick<Logger, "warn"> | undefined;
}

const LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
// Empty, or a domain name of at most 253 characters that is not an IP address.
const DOMAIN_OR_NONE = new RegExp(`^$|^(?![\\d.]+$)(?=.{1,253}$)${LABEL}(?:\\.${LABEL})*\\.?$`, "i");
const PREFIX = /^(?:\/[A-Za-z0-9_~.-]+)+$/;

const someSource = oneOf(...TENANT_SOURCES);
const sourceList: Kind<readonly TenantSource[]> = {
  expects: `a list with at least one entry, each entry ${someSource.expects}`,
  accepts: (value): value is readonly TenantSource[] => listOf(someSource).accepts(value) && value.length > 0,
};

const kinds = {
  sources: withDefault(sourceList, ["token", "subdomain"]),
  baseDomain: withDefault(
    string({
      allowEmpty: true,
      pattern: DOMAIN_OR_NONE,
      expects: "a domain such as example.com, without scheme and port, an international one in its xn-- form",
    }),
    "",
  ),
  requireTenant: withDefault(boolean(), false),
  trustUnscopedPrincipals: withDefault(boolean(), false),
  auth: withDefault(boolean(), true),
  callerOf: optional(func<(req: IncomingMessage) => Caller | undefined>()),
  hostOf: optional(func<(req: IncomingMessage) => string | undefined>()),
  pathPrefix: withDefault(
    string({ pattern: PREFIX, expects: "a path such as /t, without a slash at its end" }),
    "/t",
  ),
  reservedSubdomains: withDefault(
    listOf(string({ pattern: SLUG, expects: "a label in lower case such as www" })),
    RESERVED_SUBDOMAINS,
  ),
  exemptPaths: withDefault(
    listOf(
      string({
        pattern: EXEMPT_PATH,
        expects: "a path such as /about, POST /hooks/:name or /public/*",
      }),
    ),
    [],
  ),
  env: withDefault(oneOf("local", "dev", "staging", "prod"), "prod"),
  logger: optional(objectWith<Pick<Logger, "warn">>("a logger", "warn")),
};

type MayBeMissing = "callerOf" | "hostOf" | "logger";

/** The options with their defaults filled in. */
export type ResolvedTenancy = {
  readonly [N in Exclude<keyof TenancyOptions, MayBeMissing>]-?: NonNullable<TenancyOptions[N]>;
} & { readonly [N in MayBeMissing]: TenancyOptions[N] };

/**
 * Validates the options and fills in the defaults.
 *
 * @throws ConfigurationError for unknown or wrong options, and for `subdomain` without a base domain (TEN-21)
 */
export function resolveTenancyOptions(given: TenancyOptions | undefined): ResolvedTenancy {
  const options = resolveOptions("tenancy()", given, kinds);
  if (options.baseDomain === "" && options.sources.includes("subdomain")) {
    const listed =
      given?.sources === undefined ? "is one of the sources by default" : "is one of the sources";
    throw new ConfigurationError("tenancy()", [
      {
        key: "baseDomain",
        message:
          `is required, because subdomain ${listed}: ` +
          'set it to the domain whose subdomains are tenants, or leave subdomain out: sources: ["token"]',
      },
    ]);
  }
  return options;
}
