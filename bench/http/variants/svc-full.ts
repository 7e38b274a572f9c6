import { createService, type ServiceOptions } from "@svc/express";
import { principalOf, requireScopes, type RevocationCheck } from "@svc/jwt-auth";
import { requireTenant, tenantOf } from "@svc/tenancy";
import { Redis } from "ioredis";
import pg from "pg";
import { pino } from "pino";
import { expectEqual } from "../../harness/expect-equal.ts";
import type { Subject } from "../../harness/subject.ts";
import { baseDomain, createRevokedIds, mintTokens, scope, trafficWith } from "../access.ts";
import { httpSubject } from "../http-subject.ts";
import { createLogTap, type LogTap } from "../log-tap.ts";
import { proofOf } from "../proof.ts";
import { addDescribedRoute } from "../described-route.ts";
import { addGuardedRoute, type Seen } from "../route.ts";
import { audience, createIssuer, type Issuer, issuerUrl } from "../tokens.ts";

interface Setting {
  readonly algorithm: "HS256" | "RS256";
  readonly cacheTokens: number;
  readonly etag: boolean;
  readonly level: "warn" | "info";
  /** Whether requests have spans, which stay in memory. */
  readonly traced: boolean;
  /** Whether the route is described, so that its parameter is validated. */
  readonly described: boolean;
  /** Whether the plugins `database`, `rollups` and `rag` are on. No request uses them. */
  readonly data: boolean;
  /** Whether the application passes its own logger, pool and Redis client. No request uses the pool or the client. */
  readonly own: boolean;
}

const usual: Setting = {
  algorithm: "HS256",
  cacheTokens: 5000,
  etag: true,
  level: "warn",
  traced: false,
  described: false,
  data: false,
  own: false,
};
const settings: Readonly<Record<string, Setting>> = {
  cached: usual,
  "no-etag": { ...usual, etag: false },
  info: { ...usual, level: "info" },
  telemetry: { ...usual, traced: true },
  described: { ...usual, described: true },
  data: { ...usual, data: true },
  own: { ...usual, own: true },
  "own-info": { ...usual, level: "info", own: true },
  uncached: { ...usual, cacheTokens: 0 },
  // The cache holds fewer tokens than the requests use: each token is evicted before it is sent again.
  unseen: { ...usual, algorithm: "RS256", cacheTokens: 32 },
};

// The service is not started, so nothing connects to this database.
const databaseUrl = "postgres://bench@127.0.0.1:1/bench";
const dimensions = 384;
const dataCode: Pick<ServiceOptions, "rollups" | "rag"> = {
  rollups: {
    monthly: {
      source: { table: "expenses", tenantColumn: "tenant_id", timeColumn: "paid_at" },
      measures: { total: { sql: "sum(amount)", type: "numeric(14, 2)" } },
    },
  },
  rag: { embed: (texts) => texts.map(() => Array.from({ length: dimensions }, () => 1)) },
};

/**
 * Starts a whole service with authentication and tenants. Setting: `cached`, `no-etag`, `info`, `telemetry`,
 * `described`, `data`, `own`, `own-info`, `uncached` or `unseen`.
 */
export async function start(name: string): Promise<Subject> {
  const setting = settings[name] ?? usual;
  const issuer = createIssuer(setting.algorithm);
  const revoked = createRevokedIds();
  const revocation: RevocationCheck = { isRevoked: ({ jti }) => jti !== undefined && revoked.has(jti) };
  const tokens = mintTokens(issuer, 64);
  const traffic = trafficWith(tokens);
  const seen: Seen = {};
  const tap = createLogTap();
  const service = await createService({
    config: { toml: configOf(issuer, setting) },
    env: { SVC_ENV: "prod" },
    auth: { revocation },
    ...(setting.data ? dataCode : {}),
    ...(setting.own ? ownCode(setting, tap) : { logDestination: tap }),
    routes(app) {
      const add = setting.described ? addDescribedRoute : addGuardedRoute;
      add(app, [requireScopes(scope), requireTenant()], seen, { tenant: tenantOf, caller: principalOf });
    },
    signals: false,
  });
  if (service.metrics === undefined) throw new Error("the service has no metrics");
  const telemetry = setting.traced ? service.telemetry : undefined;
  if (setting.traced && telemetry === undefined) throw new Error("the service has no telemetry");
  const hasData = service.rollups?.["monthly"] !== undefined && service.search !== undefined;
  expectEqual("whether the service has rollups and a search", hasData, setting.data);
  const claims = {
    requestId: true,
    registry: service.metrics.registry,
    log: { tap, logger: service.log, level: setting.level },
    problems: true,
    securityHeaders: true,
    etag: setting.etag,
    described: setting.described,
    access: { issuer, revoked, seen, tokens, remembers: setting.cacheTokens >= tokens.length },
    headers: traffic.headers,
    ...(telemetry === undefined ? {} : { spans: telemetry.counts }),
  } as const;
  return httpSubject(service.server, proofOf(claims), traffic);
}

/** Returns a logger, a pool and a Redis client as an application creates them. Neither pool nor client connects. */
function ownCode({ level }: Setting, tap: LogTap): Pick<ServiceOptions, "logger" | "database" | "cache"> {
  return {
    logger: pino({ level }, tap),
    database: new pg.Pool({ connectionString: databaseUrl }),
    cache: new Redis({ lazyConnect: true }),
  };
}

function configOf(
  { algorithm, secret, publicKey }: Issuer,
  { cacheTokens, etag, level, traced, described, data, own }: Setting,
): string {
  const key =
    publicKey === undefined ? { mode: "secret", secret } : { mode: "public_key", public_key: publicKey };
  const auth = {
    ...key,
    algorithms: [algorithm],
    issuer: issuerUrl,
    audience,
    cache_tokens: cacheTokens,
  };
  const more = [
    ...(traced ? ["telemetry"] : []),
    ...(described ? ["openapi"] : []),
    ...(data ? ["database", "rollups", "rag"] : []),
    ...(own ? ["database", "cache"] : []),
  ];
  return [
    section("service", { name: "bench", version: "1.0.0", etag }),
    section("plugins", {
      enabled: ["observability", "metrics", "auth", "tenancy", ...more],
    }),
    ...(traced ? [section("plugin.telemetry", { exporter: "memory" })] : []),
    ...(data
      ? [section("plugin.database", { url: databaseUrl }), section("plugin.rag", { dimensions })]
      : []),
    section("plugin.auth", auth),
    section("plugin.tenancy", { base_domain: baseDomain }),
    section("logging", { level: level.toUpperCase() }),
  ].join("\n");
}

// The values used above have the same form in TOML and JSON.
function section(name: string, values: object): string {
  const lines = Object.entries(values).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  return [`[${name}]`, ...lines, ""].join("\n");
}
