import type { Cache } from "@svc/cache";
import type { Config } from "@svc/config";
import type { Middleware, ReadinessCheck } from "@svc/context";
import type { Database } from "@svc/database";
import type { Events, Inbox } from "@svc/events";
import type { JwtAuth } from "@svc/jwt-auth";
import type { MetricsMiddleware } from "@svc/metrics";
import type { TokenIssuer } from "@svc/token-issuer";
import type { JobTable } from "@svc/job-table";
import type { FrameworkRoute } from "../framework-routes.ts";
import { ConfigurationError } from "@svc/options";
import type { Service } from "../service.ts";
import type { StopHook, StopPhase } from "../stop.ts";
import type { BackgroundPart, SchemaPart } from "../work/parts.ts";
import type { PluginSettings } from "./built.ts";
import { type AuthCode, authPlugin } from "./auth.ts";
import { cachePlugin } from "./cache.ts";
import { databasePlugin } from "./database.ts";
import type { JobCode } from "./job-code.ts";
import { jobParts } from "./job-parts.ts";
import { metricsPlugin } from "./metrics.ts";
import { observability } from "./observability.ts";
import type { PluginContext, PluginParts, ServiceLogger } from "./plugin.ts";
import { createRefusals } from "./refusals.ts";
import { signInParts } from "./sign-in.ts";
import { tenancyPlugin } from "./tenancy.ts";

/** The combined parts of all enabled plugins. */
export interface StartedPlugins {
  readonly edge: readonly (Middleware | undefined)[];
  /** Middleware that finds the caller and the tenant. */
  readonly identity: readonly (Middleware | undefined)[];
  /** Routes of plugins that need the parsed body. */
  readonly behindBody: readonly (Middleware | undefined)[];
  readonly routes: readonly FrameworkRoute[];
  readonly checks: readonly ReadinessCheck[];
  /** Pages that run after the application's `middleware` and before its routes. */
  readonly pages: readonly Middleware[];
  readonly info: () => readonly { readonly name: string }[];
  /** Names of the sign-in providers. */
  readonly providers: readonly string[];
  readonly stopHooks: readonly (readonly [StopPhase, StopHook])[];
  /** The background parts in the order of their stop, and their tables. */
  readonly work: readonly BackgroundPart[];
  readonly schemas: readonly SchemaPart[];
  readonly metrics: MetricsMiddleware | undefined;
  readonly db: Database | undefined;
  readonly jobs: JobTable | undefined;
  readonly events: Events | undefined;
  readonly inbox: Inbox | undefined;
  readonly cache: Cache | undefined;
  readonly auth: JwtAuth | undefined;
  readonly issuer: TokenIssuer | undefined;
}

/** The inputs of the plugins beside their settings. */
export interface PluginSurroundings {
  readonly logger: ServiceLogger;
  readonly profile: "full" | "reduced";
  /** The options of `[plugin.auth]` that need code. */
  readonly auth: AuthCode | undefined;
  /** The options of `[plugin.queue]` and `[plugin.events]` that need code. */
  readonly work: JobCode;
  /** Returns the service, which exists when jobs run. */
  readonly serviceOf: () => Service;
  readonly hasRoute: PluginContext["hasRoute"];
}

/** Starts the enabled plugins, in the order in which a request passes them. */
export async function startPlugins(
  { service, plugin }: Config<PluginSettings, Record<never, object>>,
  { logger, profile, auth: authCode, work: jobCode, serviceOf, hasRoute }: PluginSurroundings,
): Promise<StartedPlugins> {
  const { name, version, env } = service;
  const { noted, error: refused } = createRefusals();
  const context: PluginContext = { service: name, version, logger, env, profile, hasRoute, noted };
  if (authCode !== undefined && plugin.auth === undefined) refuseAuthCode();
  const lines = plugin.observability && observability(plugin.observability, logger);
  const metrics = plugin.metrics && (await metricsPlugin(plugin.metrics, context));
  const database = plugin.database && (await databasePlugin(plugin.database, context));
  const jobs = await noted(() =>
    jobParts(plugin, context, jobCode, {
      db: database?.db,
      metrics: metrics?.metrics,
      serviceOf,
    }),
  );
  const { cache: cacheSettings, auth: authSettings, tenancy: tenancySettings } = plugin;
  const cache = cacheSettings && (await noted(() => cachePlugin(cacheSettings, context)));
  const auth = authSettings && (await noted(() => authPlugin(authSettings, context, authCode, cache?.cache)));
  const signIn = authSettings && (await noted(() => signInParts(authSettings, context, authCode)));
  const tenancy =
    tenancySettings &&
    (await noted(() =>
      tenancyPlugin(tenancySettings, context, {
        auth: authSettings !== undefined,
        behindProxies: service.trustedProxies.length > 0,
        systemPaths: metrics?.routes?.map(({ path }) => path) ?? [],
      }),
    ));
  const started: readonly (readonly [name: string, parts: PluginParts | undefined])[] = [
    ["observability", lines],
    ["metrics", metrics],
    ["database", database],
    ["queue", jobs?.queue],
    ["events", jobs?.eventParts],
    ["cache", cache],
    ["auth", auth],
    ["tenancy", tenancy],
  ];
  const named = started.flatMap(([name, each]) => (each === undefined ? [] : [{ name, ...each }]));
  // Sign-in is a part of the plugin auth.
  const parts: readonly PluginParts[] = signIn === undefined ? named : [...named, signIn];
  const refusal = refused();
  if (refusal !== undefined) {
    // Parts that have started would keep the process alive.
    const { signal } = new AbortController();
    for (const { onStop } of parts) await onStop?.[1](signal);
    throw refusal;
  }
  return {
    edge: parts.map((each) => each.edge),
    identity: parts.map((each) => each.identity),
    behindBody: parts.map((each) => each.behindBody),
    routes: parts.flatMap((each) => each.routes ?? []),
    checks: parts.flatMap((each) => each.checks ?? []),
    pages: parts.flatMap((each) => each.page ?? []),
    info: () => named.map(({ name, info }) => ({ ...(typeof info === "function" ? info() : info), name })),
    providers: Object.keys(plugin.auth?.providers ?? {}),
    stopHooks: parts.flatMap((each) => (each.onStop === undefined ? [] : [each.onStop])),
    work: jobs?.work ?? [],
    schemas: parts.flatMap((each) => each.schemas ?? []),
    metrics: metrics?.metrics,
    db: database?.db,
    jobs: jobs?.jobs,
    events: jobs?.events,
    inbox: jobs?.inbox,
    cache: cache?.cache,
    auth: auth?.auth,
    issuer: auth?.issuer,
  };
}

function refuseAuthCode(): never {
  const key = "auth";
  const message = "is of no use without authentication; enable the plugin auth or take it away";
  throw new ConfigurationError("createService()", [{ key, message }]);
}
