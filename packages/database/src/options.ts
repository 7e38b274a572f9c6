import type { Logger } from "@svc/context";
import {
  ConfigurationError,
  defineOptions,
  fault,
  type Fault,
  inSeconds,
  kinds as k,
  namesOf,
  type OptionsOf,
  type ResolvedOptions,
} from "@svc/options";
import type { Pool } from "pg";
import { hasEnded, hasOldDriver, poolKind } from "./pool-kind.ts";

const inFile = inSeconds(k.number({ min: 0.001, max: 3600 }));

const PLACE = ["host", "port", "database", "user", "password"] as const;
const REQUIRED = ["host", "user", "database"] as const;
/** Options for the connections of a pool that this package opens. */
const OF_OWN_POOL = [
  "url",
  ...PLACE,
  "ssl",
  "applicationName",
  "max",
  "connectTimeoutMs",
  "idleTimeoutMs",
] as const;

export const databaseOptions = defineOptions("createDatabase()", {
  /**
   * `postgres://user:password@host:5432/database`; its parameters (`?sslmode=...`) override the options here.
   * Default: none; then `host`, `user` and `database` are required.
   */
  url: {
    kind: k.optional(
      k.secret(k.string({ pattern: /^postgres(?:ql)?:\/\//, expects: "a URL that begins with postgres://" })),
    ),
  },
  /** Name or address of the server, or the folder of its socket. Default: the host in the URL. */
  host: { kind: k.optional(k.string()) },
  /** TCP port. Default: 5432. */
  port: { kind: k.optional(k.integer({ min: 1, max: 65_535 })) },
  /** Name of the database. Default: the database in the URL. */
  database: { kind: k.optional(k.string()) },
  /** Name of the database role. Default: the user in the URL. */
  user: { kind: k.optional(k.string()) },
  /** Password of the database role. Default: none. */
  password: { kind: k.optional(k.secret(k.string({ allowEmpty: true }))) },
  /** TLS: true, or options for `tls.connect`. Default: as in the URL, else no TLS. */
  ssl: { kind: k.optional(k.either(k.boolean(), k.objectWith<object>("an object of TLS options"))) },
  /**
   * A `pg` pool to use instead of opening one, or an object with the same members. Its own settings apply to the connections;
   * it stays open unless `closePool` is set. Default: none.
   */
  pool: { kind: k.optional(k.secret(poolKind)) },
  /** Whether `stop()` closes `pool`. Default: false. */
  closePool: { kind: k.withDefault(k.boolean(), false) },
  /** Name of the readiness check, and of the database in log messages. Default: `database`. */
  name: { kind: k.withDefault(k.checkName, "database") },
  /** Name of the client in `pg_stat_activity`. Default: `svc`. */
  applicationName: { kind: k.withDefault(k.string(), "svc") },
  /** Maximum number of connections. Default: 10. */
  max: { kind: k.withDefault(k.integer({ min: 1, max: 10_000 }), 10) },
  /** Time limit for opening a connection. Default: 2,000. */
  connectTimeoutMs: { key: "connect_timeout", inFile, kind: k.withDefault(k.milliseconds, 2000) },
  /**
   * How long a request waits for a connection, idle or new; opening a new one is also limited by `connectTimeoutMs`.
   * Default: 2,000.
   */
  acquireTimeoutMs: { key: "acquire_timeout", inFile, kind: k.withDefault(k.milliseconds, 2000) },
  /**
   * Time limit for a statement, after which the server cancels it. A server that does not cancel it within another half
   * second counts as hung. Default: 10,000.
   */
  statementTimeoutMs: { key: "statement_timeout", inFile, kind: k.withDefault(k.milliseconds, 10_000) },
  /** Time after which an unused connection is closed. Default: 30,000. */
  idleTimeoutMs: { kind: k.withDefault(k.milliseconds, 30_000) },
  /** Time limit for the readiness check; keep it below the deadline that `/ready` has for one check. Default: 1,500. */
  readinessTimeoutMs: { kind: k.withDefault(k.milliseconds, 1500) },
  /** How long `stop()` waits for connections in use before it cuts them. Default: 5,000. */
  stopTimeoutMs: { kind: k.withDefault(k.milliseconds, 5000) },
  /** Number of consecutive failed connection attempts after which the circuit breaker opens. Default: 2. */
  breakerFailures: { kind: k.withDefault(k.integer({ min: 1 }), 2) },
  /** How long the open circuit breaker blocks connection attempts. Default: 5,000. */
  breakerCoolDownMs: { kind: k.withDefault(k.number({ min: 0, max: k.LONGEST_MS }), 5000) },
  /** Whether the service cannot work without the database (RDY-13). Default: true. */
  critical: { key: "critical", kind: k.withDefault(k.boolean(), true) },
  /**
   * Whether tables rely on row security: if so, `/ready` reports a role that bypasses it (a superuser, or one with
   * BYPASSRLS). Default: false until the first `withTenant`, true afterwards.
   */
  rowSecurity: { kind: k.optional(k.boolean()) },
  /** Name of the setting that holds a transaction's tenant; policies must use the same setting. Default: `svc.tenant`. */
  tenantSetting: {
    kind: k.withDefault(
      k.string({
        pattern: /^[a-z_][a-z0-9_]{0,29}\.[a-z_][a-z0-9_]{0,29}$/,
        expects: "two lower-case names joined by a dot, such as svc.tenant",
      }),
      "svc.tenant",
    ),
  },
  /** Logs when the database becomes unavailable and when it is available again. Default: none. */
  logger: { kind: k.optional(k.objectWith<Logger>("a logger", "info", "warn", "error")) },
  /** Monotonic clock in milliseconds, for tests. Default: `performance.now`. */
  now: { kind: k.monotonicClock },
}).withCheck((options, name) => {
  if (options.pool !== undefined) return faultsOfPool(options.pool, options.closePool, name("closePool"));
  if (options.closePool) return [fault("closePool", `requires ${name("pool")}`)];
  if (options.url !== undefined) {
    const message = `cannot be combined with ${name("url")}; set one of them`;
    return PLACE.filter((key) => options[key] !== undefined).map((key) => fault(key, message));
  }
  const missing = REQUIRED.filter((key) => options[key] === undefined);
  if (missing.length < REQUIRED.length)
    return missing.map((key) => fault(key, `is required without ${name("url")}`));
  const [host, user, database] = REQUIRED.map(name);
  return [fault("url", `is required unless ${host}, ${user} and ${database} are set`)];
});

/** Options of {@link createDatabase}. All times are in milliseconds. */
export type DatabaseOptions = OptionsOf<typeof databaseOptions>;

/** The options with all defaults applied. */
export type ResolvedDatabase = ResolvedOptions<(typeof databaseOptions)["keys"]>;

/**
 * Checks the options and fills in the defaults.
 *
 * @throws ConfigurationError
 */
export function resolveDatabase(given: DatabaseOptions): ResolvedDatabase {
  const resolved = databaseOptions.resolve(given);
  if (resolved.pool === undefined) return resolved;
  // Check the given options, because the resolved ones do not show which of them are defaults.
  const { subject, of } = namesOf(given, databaseOptions.subject);
  const message = `cannot be combined with ${of("pool")}, whose own settings apply`;
  const faults = OF_OWN_POOL.filter((key) => given[key] !== undefined).map((key) => fault(of(key), message));
  if (faults.length > 0) throw new ConfigurationError(subject, faults);
  return resolved;
}

function faultsOfPool(pool: Pool, closePool: boolean, closeName: string): readonly Fault[] {
  if (hasEnded(pool)) return [fault("pool", "has ended; pass a pool that is open")];
  if (hasOldDriver(pool)) {
    return [
      fault("pool", "has connections without getTransactionStatus(); use pg 8.21 or later, not pg.native"),
    ];
  }
  if (closePool && typeof (pool as Partial<Pool>).end !== "function") {
    return [fault("pool", `must have end(), because ${closeName} is set`)];
  }
  return [];
}
