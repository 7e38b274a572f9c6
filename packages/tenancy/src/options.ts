import type { IncomingMessage } from "node:http";
import type { Logger } from "@svc/context";
import {
  defineOptions,
  fault,
  kinds as k,
  type OptionsOf,
  type ResolvedOptions,
  type WithMethods,
} from "@svc/options";
import { EXEMPT_PATH } from "./exempt-paths.ts";
import { RESERVED_SUBDOMAINS } from "./host.ts";
import { type Caller, TENANT_SOURCES, type TenantSource } from "./resolution.ts";
import { SLUG } from "./slug.ts";

// Method parameters are bivariant, so a function may declare the request of Express that it expects.
interface Functions {
  callerOf(req: IncomingMessage): Caller | undefined;
  hostOf(req: IncomingMessage): string | undefined;
}

const LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
// Empty, or a domain name of at most 253 characters that is not an IP address.
const DOMAIN_OR_NONE = new RegExp(`^$|^(?![\\d.]+$)(?=.{1,253}$)${LABEL}(?:\\.${LABEL})*\\.?$`, "i");
const PREFIX = /^(?:\/[A-Za-z0-9_~.-]+)+$/;

const someSource = k.oneOf(...TENANT_SOURCES);
const sourceList: k.Kind<readonly TenantSource[]> = {
  expects: `a non-empty list in which each entry is ${someSource.expects}`,
  accepts: (value): value is readonly TenantSource[] =>
    k.listOf(someSource).accepts(value) && value.length > 0,
};

export const tenancyOptions = defineOptions("tenancy()", {
  /**
   * The sources of a tenant, in order of trust (TEN-1): `token`, `user`, `subdomain`, `path`, `header`. A signed source
   * (`token`, `user`) outranks the others at any position (TEN-8). Default: `["token", "subdomain"]`.
   */
  sources: {
    key: "sources",
    env: "SVC_TENANCY_SOURCES",
    kind: k.withDefault(sourceList, ["token", "subdomain"]),
  },
  /**
   * The domain whose subdomains are tenants, such as `example.com`; required by `subdomain`, one of the default sources
   * (TEN-2). Default: none.
   */
  baseDomain: {
    key: "base_domain",
    env: "SVC_TENANCY_BASE_DOMAIN",
    wins: "env",
    kind: k.withDefault(
      k.string({
        allowEmpty: true,
        pattern: DOMAIN_OR_NONE,
        expects:
          "a domain such as example.com, without a scheme or port; write an international domain in its xn-- form",
      }),
      "",
    ),
  },
  /** Whether every request needs a tenant, except on exempt paths (TEN-3). Default: false. */
  requireTenant: {
    key: "require_tenant",
    env: "SVC_TENANCY_REQUIRE_TENANT",
    kind: k.withDefault(k.boolean(), false),
  },
  /**
   * Whether a caller without a tenant may act in the tenant that the request names. The application must then check
   * membership itself (TEN-7). Default: false.
   */
  trustUnscopedPrincipals: {
    key: "trust_unscoped_principals",
    env: "SVC_TENANCY_TRUST_UNSCOPED_PRINCIPALS",
    kind: k.withDefault(k.boolean(), false),
  },
  /**
   * Whether an earlier middleware verifies callers. When false, a request without a caller is granted the tenant that
   * it names (TEN-9). Default: true.
   */
  auth: { kind: k.withDefault(k.boolean(), true) },
  /**
   * Returns the verified caller of a request, `{ subject, tenant }`, or undefined. Must not return a promise. Default: the
   * `principal` of the request's context.
   */
  callerOf: { kind: k.optional(k.func<Functions["callerOf"]>()) },
  /**
   * Returns the host that a request was sent to, for example from `X-Forwarded-Host` of a trusted proxy: `(req) =>
   * req.hostname` follows Express's `trust proxy` and uses the first of several values. Default: the header `Host`.
   */
  hostOf: { kind: k.optional(k.func<Functions["hostOf"]>()) },
  /** Path prefix in front of the tenant's segment (TEN-14). Default: `/t`. */
  pathPrefix: {
    key: "path_prefix",
    kind: k.withDefault(
      k.string({ pattern: PREFIX, expects: "a path such as /t without a trailing slash" }),
      "/t",
    ),
  },
  /**
   * Labels before the base domain that name no tenant; a list replaces the default (TEN-13). Default:
   * `RESERVED_SUBDOMAINS`, that is www, api, app, admin, static, assets, cdn, mail, ftp and localhost.
   */
  reservedSubdomains: {
    key: "reserved_subdomains",
    kind: k.withDefault(
      k.listOf(k.string({ pattern: SLUG, expects: "a label in lower case such as www" })),
      RESERVED_SUBDOMAINS,
    ),
  },
  /**
   * Paths that need no tenant, in addition to the built-in paths (TEN-16): `/about`, `POST /hooks/:name` (any one segment),
   * `/public/*` (one or more segments). Default: none.
   */
  exemptPaths: {
    key: "exempt_paths",
    kind: k.withDefault(
      k.listOf(
        k.string({
          pattern: EXEMPT_PATH,
          expects: "a path such as /about, POST /hooks/:name or /public/*",
        }),
      ),
      [],
    ),
  },
  /** Where the service runs; in `prod`, a warning is logged for the source `header` (TEN-22). Default: `prod`. */
  env: { kind: k.environmentKind },
  /** Logs the warning about the source `header` once, at construction. Default: none. */
  logger: { kind: k.optional(k.objectWith<Pick<Logger, "warn">>("a logger", "warn")) },
}).withCheck(({ baseDomain, sources }, name) => {
  if (baseDomain !== "" || !sources.includes("subdomain")) return [];
  const message =
    `is required while ${name("sources")} contains subdomain, which it does by default: ` +
    'set it to the domain whose subdomains are tenants, or leave subdomain out: sources: ["token"]';
  return [fault("baseDomain", message)];
});

/** Options of `tenancy()`. */
export type TenancyOptions = WithMethods<OptionsOf<typeof tenancyOptions>, Functions>;

/** The options with their defaults filled in. */
export type ResolvedTenancy = ResolvedOptions<(typeof tenancyOptions)["keys"]>;
