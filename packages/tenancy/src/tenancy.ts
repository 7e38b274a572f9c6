import type { IncomingMessage } from "node:http";
import { contextOf, enterContext, isTenantId, type Middleware, openContext } from "@svc/context";
import { internalError, type ProblemError } from "@svc/problem";
import { safeLogger } from "@svc/resilience";
import { EXEMPT_PATHS, exemption } from "./exempt-paths.ts";
import { hostReader } from "./host.ts";
import { type ResolvedTenancy, tenancyOptions, type TenancyOptions } from "./options.ts";
import { refusalError, tenantRequired } from "./refusals.ts";
import { hostOf as hostOfRequest, pathOf, targetOf, tenantInPath } from "./request-target.ts";
import { type Caller, type Policy, type Resolution, resolveTenant } from "./resolution.ts";
import { remember } from "./accessors.ts";
import { isSlug, shown } from "./slug.ts";

/**
 * Finds the tenant of every request and sets `tenantId` and `tenantClaimed` in its context (TEN-1 to TEN-9, TEN-20). Mount
 * it after the middleware that verifies callers. With the option `requireTenant`, a request without a granted tenant is
 * rejected immediately; otherwise only the guard `requireTenant()` or `currentTenant()` rejects it.
 *
 * @throws ConfigurationError for unknown or invalid options, or `subdomain` without a base domain (TEN-21)
 */
export function tenancy(options?: TenancyOptions): Middleware {
  const resolved = tenancyOptions.resolve(options);
  const { requireTenant, callerOf, env, logger } = resolved;
  const policy = policyOf(resolved);
  const callerIn = soundCaller(callerOf === undefined ? principalOf : checked(callerOf));
  const isExempt = exemption([...EXEMPT_PATHS, ...resolved.exemptPaths]);
  if (env === "prod" && resolved.sources.includes("header")) {
    safeLogger(logger)?.warn(
      { sources: resolved.sources },
      "tenancy takes the tenant from the header X-Tenant-ID: any client that can reach this service can name any tenant",
    );
  }

  return function tenancyMiddleware(req, res, next) {
    const context = openContext(req);
    let resolution: Resolution;
    try {
      resolution = resolveTenant(policy, callerIn(req), req);
    } catch (error) {
      context.tenantId = undefined;
      remember(context, undefined);
      next(failure(error));
      return;
    }
    context.tenantId = resolution.tenant;
    context.tenantClaimed = resolution.refused ?? claimedIn(req, resolution.tenant);
    remember(context, resolution);
    if (requireTenant && resolution.tenant === undefined && !isExempt(req.method ?? "", targetOf(req)))
      next(refusalAtOnce(resolution, req));
    else enterContext(req, res, next);
  };
}

function policyOf(options: ResolvedTenancy): Policy<IncomingMessage> {
  const suffix = `.${options.baseDomain.toLowerCase().replace(/\.$/, "")}`;
  const tenantOfHost = hostReader(suffix, new Set(options.reservedSubdomains));
  const prefix = `${options.pathPrefix.toLowerCase()}/`;
  const { hostOf } = options;
  const hostIn = hostOf === undefined ? hostOfRequest : checkedHost(hostOf);
  const readers = {
    subdomain: (req: IncomingMessage): string | undefined => {
      const host = hostIn(req);
      return host === undefined ? undefined : tenantOfHost(host);
    },
    path: (req: IncomingMessage): string | undefined => tenantInPath(pathOf(targetOf(req)), prefix),
    header: (req: IncomingMessage): string | undefined => {
      const value = headerOf(req);
      return value !== undefined && isSlug(value) ? value : undefined;
    },
  };
  const sources = [...new Set(options.sources)];
  return {
    signed: sources.filter((source) => source === "token" || source === "user"),
    named: sources
      .filter((source) => source !== "token" && source !== "user")
      .map((source) => readers[source]),
    auth: options.auth,
    trustUnscoped: options.trustUnscopedPrincipals,
  };
}

// Node joins repeated headers with a comma, which a slug never contains.
function headerOf(req: IncomingMessage): string | undefined {
  const value = req.headers["x-tenant-id"];
  return typeof value === "string" || value === undefined ? value : value.join(", ");
}

/** Returns the header's value, for the log only, unless it equals the granted tenant (TEN-5, TEN-20). */
function claimedIn(req: IncomingMessage, tenant: string | undefined): string | undefined {
  const value = headerOf(req);
  return value === undefined || value === "" || value === tenant ? undefined : shown(value);
}

// A client with an expired session must receive the 401, or it would not renew the session (AUTH-13).
function refusalAtOnce(resolution: Resolution, req: IncomingMessage): ProblemError {
  const gaveUp = resolution.refusal === "anonymous" && req.headers.authorization === undefined;
  return gaveUp ? tenantRequired() : refusalError(resolution);
}

function principalOf(req: IncomingMessage): Caller | undefined {
  return contextOf(req)?.principal;
}

/** Treats a caller with a malformed tenant as unverified, like one with a bad token (AUTH-39). */
function soundCaller(
  callerIn: (req: IncomingMessage) => Caller | undefined,
): (req: IncomingMessage) => Caller | undefined {
  return function callerWithTenant(req) {
    const caller = callerIn(req);
    const tenant = caller?.tenant ?? "";
    return tenant === "" || isTenantId(tenant) ? caller : undefined;
  };
}

// A promise has neither tenant nor subject, so it would look like a verified caller without a tenant.
function checked(
  callerOf: NonNullable<TenancyOptions["callerOf"]>,
): (req: IncomingMessage) => Caller | undefined {
  return function callerChecked(req) {
    const caller: unknown = callerOf(req);
    if (caller === undefined || caller === null) return undefined;
    dropRejection(caller);
    if (typeof caller !== "object" || "then" in caller)
      throw new TypeError("callerOf must return { subject, tenant } or undefined, not a promise");
    const { subject, tenant } = caller as { readonly subject?: unknown; readonly tenant?: unknown };
    if (!isText(subject) || !isText(tenant))
      throw new TypeError("callerOf must return a subject and a tenant that are strings or undefined");
    return { subject: subject ?? undefined, tenant: tenant ?? undefined };
  };
}

function checkedHost(
  hostOf: NonNullable<TenancyOptions["hostOf"]>,
): (req: IncomingMessage) => string | undefined {
  return function hostChecked(req) {
    const host: unknown = hostOf(req);
    dropRejection(host);
    if (!isText(host)) throw new TypeError("hostOf must return a string or undefined, not a promise");
    return host ?? undefined;
  };
}

// A promise is refused anyway; without a handler, its own rejection would also end the process.
function dropRejection(value: unknown): void {
  if (value instanceof Promise) value.catch(() => undefined);
}

function isText(value: unknown): value is string | null | undefined {
  return value === undefined || value === null || typeof value === "string";
}

// Wraps any thrown value: next(undefined), next("route") and next("router") would let the request continue, and an error of
// the application may have a status of its own.
function failure(cause: unknown): ProblemError {
  return internalError({ code: "ERR_SVC_TENANCY_OPTION", cause });
}
