import type { Table } from "@svc/config";
import type { TenancyOptions } from "@svc/tenancy";
import { boolean, listOf, string, withDefault, optional } from "@svc/options";
import { forwardedHost } from "./forwarded-host.ts";
import { namedAsConfigured } from "./named-as-configured.ts";
import type { PluginContext, PluginParts } from "./plugin.ts";

/** `[plugin.tenancy]` (TEN-23). */
export interface TenancySettings {
  /** Where a tenant comes from, in order of trust. Default: token, subdomain. */
  readonly sources: readonly string[];
  /** What stands behind the tenant in a host name; needed by the source `subdomain`. Default: empty. */
  readonly baseDomain: string;
  /** Whether a request without a tenant is refused, system endpoints apart. Default: false. */
  readonly requireTenant: boolean;
  /** Whether a caller whose token has no tenant may act in the tenant that the request names. Default: false. */
  readonly trustUnscopedPrincipals: boolean;
  /** What stands in front of the tenant in a path. Default: /t. */
  readonly pathPrefix: string;
  /** Labels that name no tenant. Default: those of the package. */
  readonly reservedSubdomains: readonly string[] | undefined;
  /** Paths that need no tenant, beside the fixed ones. Default: none. */
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

/** What the tenant of a request depends on beside `[plugin.tenancy]`. */
export interface TenancySurroundings {
  /** Whether callers are verified. */
  readonly auth: boolean;
  /** Whether there are proxies whose `X-Forwarded-Host` counts. */
  readonly behindProxies: boolean;
  /** Paths of the framework's own routes. */
  readonly systemPaths: readonly string[];
}

/** The middleware that finds the tenant of a request. */
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
    logger.warn({ sources }, "nobody verifies callers: whatever tenant a request names is granted");
  }
  return { identity: middleware, info: { sources: [...sources] } };
}
