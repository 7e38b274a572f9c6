import type { Table } from "@svc/config";
import type { TenancyOptions } from "@svc/tenancy";
import { boolean, listOf, string, withDefault, optional } from "@svc/options";
import { forwardedHost } from "./forwarded-host.ts";
import { namedAsConfigured } from "./named-as-configured.ts";
import type { PluginContext, PluginParts } from "./plugin.ts";

/** `[plugin.tenancy]` (TEN-23). */
export interface TenancySettings {
  /** The sources of a tenant, in order of trust. Default: token, subdomain. */
  readonly sources: readonly string[];
  /** The host name after the tenant's label; needed by the source `subdomain`. Default: empty. */
  readonly baseDomain: string;
  /** Whether requests without a tenant are refused, except for system endpoints. Default: false. */
  readonly requireTenant: boolean;
  /** Whether a caller with a token without a tenant may use the tenant that the request names. Default: false. */
  readonly trustUnscopedPrincipals: boolean;
  /** The path before the tenant. Default: /t. */
  readonly pathPrefix: string;
  /** Subdomains that are not tenants. Default: those of the package. */
  readonly reservedSubdomains: readonly string[] | undefined;
  /** Additional paths that need no tenant. Default: none. */
  readonly exemptPaths: readonly string[];
}

const path = string({ pattern: /^\//, expects: "a path that begins with /" });

export const tenancyTable: Table<TenancySettings> = {
  keys: {
    sources: {
      key: "sources",
      env: "SVC_TENANCY_SOURCES",
      kind: withDefault(listOf(string()), ["token", "subdomain"]),
    },
    baseDomain: {
      key: "base_domain",
      env: "SVC_TENANCY_BASE_DOMAIN",
      wins: "env",
      kind: withDefault(string({ allowEmpty: true }), ""),
    },
    requireTenant: {
      key: "require_tenant",
      env: "SVC_TENANCY_REQUIRE_TENANT",
      kind: withDefault(boolean(), false),
    },
    trustUnscopedPrincipals: {
      key: "trust_unscoped_principals",
      env: "SVC_TENANCY_TRUST_UNSCOPED_PRINCIPALS",
      kind: withDefault(boolean(), false),
    },
    pathPrefix: { key: "path_prefix", kind: withDefault(path, "/t") },
    reservedSubdomains: { key: "reserved_subdomains", kind: optional(listOf(string())) },
    exemptPaths: { key: "exempt_paths", kind: withDefault(listOf(string()), []) },
  },
};

/** The inputs of the plugin beside `[plugin.tenancy]`. */
export interface TenancySurroundings {
  /** Whether callers are verified. */
  readonly auth: boolean;
  /** Whether trusted proxies set `X-Forwarded-Host`. */
  readonly behindProxies: boolean;
  /** Paths of the framework's own routes. */
  readonly systemPaths: readonly string[];
}

/** Returns the middleware that finds the tenant of a request. */
export async function tenancyPlugin(
  settings: TenancySettings,
  { logger, env, profile }: PluginContext,
  { auth, behindProxies, systemPaths }: TenancySurroundings,
): Promise<PluginParts> {
  const { tenancy } = await import("@svc/tenancy");
  const { sources, baseDomain, exemptPaths, ...rest } = settings;
  const middleware = namedAsConfigured({ plugin: "tenancy", table: tenancyTable, profile }, () =>
    tenancy({
      ...rest,
      sources: sources as TenancyOptions["sources"],
      baseDomain: baseDomain === "" ? undefined : baseDomain,
      exemptPaths: [...systemPaths, ...exemptPaths],
      hostOf: behindProxies ? forwardedHost : undefined,
      auth,
      env,
      logger,
    }),
  );
  if (!auth && sources.some((source) => source !== "token" && source !== "user")) {
    logger.warn({ sources }, "callers are not verified: any tenant that a request names is granted");
  }
  return { identity: middleware, info: { sources: [...sources] } };
}
