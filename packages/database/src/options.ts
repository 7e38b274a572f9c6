import type { Logger } from "@svc/context";
import {
  boolean,
  ConfigurationError,
  either,
  func,
  integer,
  number,
  objectWith,
  optional,
  resolveOptions,
  secret,
  string,
  withDefault,
} from "@svc/options";
import { Client, type ClientConfig, type PoolConfig } from "pg";

/** Options of {@link createDatabase}. All times are in milliseconds. */
export interface DatabaseOptions {
  /**
   * `postgres://user:password@host:5432/database`; its parameters (`?sslmode=...`) override the options here.
   * Default: none; then `host`, `user` and `database` are required.
   */
  readonly url?: string | undefined;
  /** Name or address of the server, or the folder of its socket. Default: that of the URL. */
  readonly host?: string | undefined;
  /** TCP port. Default: 5432. */
  readonly port?: number | undefined;
  /** Name of the database. Default: that of the URL. */
  readonly database?: string | undefined;
  /** Name of the login. Default: that of the URL. */
  readonly user?: string | undefined;
  /** Password of the login. Default: none. */
  readonly password?: string | undefined;
  /** TLS: true, or options of `tls.connect`. Default: as in the URL, else no TLS. */
  readonly ssl?: boolean | object | undefined;
  /** Name of the readiness check, and of the database in log messages. Default: `database`. */
  readonly name?: string | undefined;
  /** Name of the client in `pg_stat_activity`. Default: `svc`. */
  readonly applicationName?: string | undefined;
  /** Largest number of connections. Default: 10. */
  readonly max?: number | undefined;
  /** Time limit for opening a connection. Default: 2,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** How long a request waits for a connection, idle or new. Default: 2,000. */
  readonly acquireTimeoutMs?: number | undefined;
  /**
   * Time limit of a statement, after which the server cancels it. A server that does not cancel it counts as hung half a
   * second later. Default: 10,000.
   */
  readonly statementTimeoutMs?: number | undefined;
  /** Time after which an unused connection is closed. Default: 30,000. */
  readonly idleTimeoutMs?: number | undefined;
  /** Time limit of the readiness check; keep it below the deadline of `/ready` for one check. Default: 1,500. */
  readonly readinessTimeoutMs?: number | undefined;
  /** How long `stop()` waits for connections in use before it cuts them. Default: 5,000. */
  readonly stopTimeoutMs?: number | undefined;
  /** Failed connection attempts in a row that open the circuit breaker. Default: 2. */
  readonly breakerFailures?: number | undefined;
  /** How long the open breaker allows no connection attempt. Default: 5,000. */
  readonly breakerCoolDownMs?: number | undefined;
  /** Whether the service cannot work without the database (RDY-13). Default: true. */
  readonly critical?: boolean | undefined;
  /**
   * Whether tables rely on row security: `/ready` then reports a login that bypasses it (a superuser, or one with
   * BYPASSRLS). Default: false until the first `withTenant`, true afterwards.
   */
  readonly rowSecurity?: boolean | undefined;
  /** Setting that holds the tenant of a transaction; policies must use the same one. Default: `svc.tenant`. */
  readonly tenantSetting?: string | undefined;
  /** Logs when the database stops answering and when it answers again. Default: none. */
  readonly logger?: Logger | undefined;
  /** Monotonic clock in milliseconds, for tests. Default: `performance.now`. */
  readonly now?: (() => number) | undefined;
}

/** The options with every default filled in, and the configuration for `pg`. */
export interface ResolvedOptions {
  readonly name: string;
  readonly max: number;
  readonly connectTimeoutMs: number;
  readonly acquireTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly readinessTimeoutMs: number;
  readonly stopTimeoutMs: number;
  readonly breakerFailures: number;
  readonly breakerCoolDownMs: number;
  readonly critical: boolean;
  readonly rowSecurity: boolean | undefined;
  readonly tenantSetting: string;
  readonly logger: Logger | undefined;
  readonly now: () => number;
  readonly client: ClientConfig & PoolConfig;
}

const SUBJECT = "createDatabase()";
const LONGEST_MS = 2 ** 31 - 1;
/** Time a healthy server gets to cancel a statement by itself, before it counts as hung. */
const GRACE_MS = 500;

const milliseconds = number({ min: 1, max: LONGEST_MS });

/** @throws ConfigurationError */
export function resolveDatabaseOptions(given: DatabaseOptions): ResolvedOptions {
  const resolved = resolveOptions(SUBJECT, given, {
    url: optional(
      secret(string({ pattern: /^postgres(?:ql)?:\/\//, expects: "a URL that begins with postgres://" })),
    ),
    host: optional(string()),
    port: optional(integer({ min: 1, max: 65_535 })),
    database: optional(string()),
    user: optional(string()),
    password: optional(secret(string({ allowEmpty: true }))),
    ssl: optional(either(boolean(), objectWith<object>("an object of TLS options"))),
    name: withDefault(
      string({ pattern: /^[A-Za-z0-9][\w.:-]{0,63}$/, expects: "1 to 64 letters, digits or _ . : -" }),
      "database",
    ),
    applicationName: withDefault(string(), "svc"),
    max: withDefault(integer({ min: 1, max: 10_000 }), 10),
    connectTimeoutMs: withDefault(milliseconds, 2000),
    acquireTimeoutMs: withDefault(milliseconds, 2000),
    statementTimeoutMs: withDefault(milliseconds, 10_000),
    idleTimeoutMs: withDefault(milliseconds, 30_000),
    readinessTimeoutMs: withDefault(milliseconds, 1500),
    stopTimeoutMs: withDefault(milliseconds, 5000),
    breakerFailures: withDefault(integer({ min: 1 }), 2),
    breakerCoolDownMs: withDefault(number({ min: 0, max: LONGEST_MS }), 5000),
    critical: withDefault(boolean(), true),
    rowSecurity: optional(boolean()),
    tenantSetting: withDefault(
      string({
        pattern: /^[a-z_][a-z0-9_]{0,29}\.[a-z_][a-z0-9_]{0,29}$/,
        expects: "two names in small letters with a dot between, such as svc.tenant",
      }),
      "svc.tenant",
    ),
    logger: optional(objectWith<Logger>("a logger", "info", "warn", "error")),
    now: withDefault(func<() => number>(), () => performance.now()),
  });
  const { url, host, port, database, user, password, ssl, applicationName, statementTimeoutMs } = resolved;
  const where = { host, port, database, user, password, ssl };
  checkPlace(url, where);
  const present = Object.fromEntries(Object.entries(where).filter(([, value]) => value !== undefined));
  const client: ClientConfig = {
    ...present,
    ...(url === undefined ? {} : { connectionString: url }),
    application_name: applicationName,
    statement_timeout: Math.ceil(statementTimeoutMs),
    query_timeout: Math.min(Math.ceil(statementTimeoutMs) + GRACE_MS, LONGEST_MS),
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  };
  checkClient(client);
  return { ...resolved, client };
}

function checkPlace(url: string | undefined, where: Readonly<Record<string, unknown>>): void {
  if (url !== undefined) {
    const named = Object.keys(where).filter((key) => key !== "ssl" && where[key] !== undefined);
    if (named.length === 0) return;
    throw new ConfigurationError(
      SUBJECT,
      named.map((key) => ({ key, message: "says what url says already; give one of the two" })),
    );
  }
  const missing = ["host", "user", "database"].filter((key) => where[key] === undefined);
  if (missing.length === 0) return;
  throw new ConfigurationError(
    SUBJECT,
    missing.length === 3
      ? [{ key: "url", message: "is required, or host, user and database" }]
      : missing.map((key) => ({ key, message: "is required where there is no url" })),
  );
}

/** Creates a client once, since `pg` rejects wrong escapes and missing certificate files only then. */
function checkClient(client: ClientConfig): void {
  try {
    new Client(client);
  } catch (error) {
    // Its message may quote the URL.
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigurationError(SUBJECT, [
      { key: "url", message: `cannot be understood by pg${code === undefined ? "" : ` (${code})`}` },
    ]);
  }
}
