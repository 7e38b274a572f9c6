import { type ServiceSettings, serviceTable } from "@svc/config";
import { ConfigurationError, type Fault, kinds as k } from "@svc/options";
import type { AnyPlugin } from "@svc/plugin";
import { ownHelmetHeaders, type PageHelmet } from "./helmet-headers.ts";
import type { BodyPaths } from "./own-bodies.ts";
import type { OwnLogger } from "./own-logger.ts";
import { type OwnCache, ownCachePlugin } from "./plugins/own-cache.ts";
import { type OwnDatabase, ownDatabasePlugin } from "./plugins/own-database.ts";
import type { MetricsCode } from "./plugins/own-registry.ts";

const { rawBodyPaths, streamBodyPaths } = serviceTable.keys;

const helmetKind: k.Kind<PageHelmet> = {
  expects: "an object of options of helmet, or a function that returns it",
  accepts: (value): value is PageHelmet =>
    typeof value === "function" || (typeof value === "object" && value !== null && !Array.isArray(value)),
};

/** Options of `createService()` for objects that an application already has, and for bodies that it reads itself. */
export const ownOptions = {
  /**
   * A pino logger, `console`, a winston logger, or an object with the same methods, for all lines of the service. It is not
   * closed. Default: a logger that writes JSON lines.
   */
  logger: { kind: k.optional(k.objectWith<OwnLogger>("a logger", "debug", "info", "warn", "error")) },
  /**
   * Options of helmet for pages, or a synchronous `(req, res) => options`, called for each page. Responses that are not pages
   * have four fixed headers instead. Default: helmet's defaults.
   */
  helmet: {
    kind: k.optional(helmetKind),
  },
  /**
   * Paths, with all paths below them, where `req.body` is a `Buffer` with the bytes as sent, as for webhooks with a signature.
   * Letter case is ignored. Default: none.
   */
  rawBodyPaths: { kind: rawBodyPaths.kind },
  /**
   * Paths, with all paths below them, whose bodies are not read before the routes, as for a proxy. `max_body_bytes` applies.
   * Letter case is ignored. Default: none.
   */
  streamBodyPaths: { kind: streamBodyPaths.kind },
};

const ownPlugins: Readonly<Record<string, AnyPlugin>> = {
  database: ownDatabasePlugin,
  cache: ownCachePlugin,
};

/** Returns the plugins; replaces each plugin whose connection the application provides. */
export function withOwnConnections(
  plugins: readonly AnyPlugin[],
  given: Readonly<Record<string, unknown>>,
): readonly AnyPlugin[] {
  return plugins.map((plugin) => (given[plugin.name] !== undefined && ownPlugins[plugin.name]) || plugin);
}

/** Options of `createService()` for connections and registries that an application has already. */
export interface OwnConnections {
  /** Options in code for the plugin `metrics`: a prom-client registry. Default none. */
  readonly metrics?: MetricsCode | undefined;
  /**
   * A database from `createDatabase()`, a `pg` pool, or `{ pool, closePool }`, as `service.db`. Requires the plugin `database`.
   * The service does not close it, except a pool with `closePool: true`. Default none: the plugin opens a pool.
   */
  readonly database?: OwnDatabase | undefined;
  /**
   * A cache from `createCache()`, an ioredis client, or `{ client, closeClient }`, as `service.cache`. Requires the plugin
   * `cache`. The service does not close it, except a client with `closeClient: true`. Default none: the plugin connects.
   */
  readonly cache?: OwnCache | undefined;
}

interface OwnParts extends BodyPaths {
  readonly logger?: unknown;
  readonly logDestination?: unknown;
  readonly helmet?: PageHelmet | undefined;
}

/**
 * Returns the faults of options that exclude each other or have no effect.
 *
 * @param settings the settings of the file
 */
export function faultsOfOwn(parts: OwnParts, settings: ServiceSettings): readonly Fault[] {
  const faults: Fault[] = [];
  if (parts.logger !== undefined && parts.logDestination !== undefined) {
    const message = "cannot be combined with logger, which has a destination of its own";
    faults.push({ key: "logDestination", message });
  }
  if (parts.helmet !== undefined && !settings.securityHeaders) {
    const message = "has no effect while service.security_headers is false; remove one of them";
    faults.push({ key: "helmet", message });
  }
  faults.push(...faultsOfHelmet(parts.helmet));
  const repeated = (key: keyof BodyPaths, other: string, among: readonly string[]): void => {
    const taken = new Set(among.map((each) => each.toLowerCase()));
    for (const each of parts[key].filter((path) => taken.has(path.toLowerCase())))
      faults.push({ key, message: `contains ${each}, which is also in ${other}` });
  };
  repeated("streamBodyPaths", "rawBodyPaths", parts.rawBodyPaths);
  repeated("streamBodyPaths", "service.raw_body_paths", settings.rawBodyPaths);
  repeated("rawBodyPaths", "service.stream_body_paths", settings.streamBodyPaths);
  return faults;
}

/**
 * Returns the faults of helmet's options, so that they are reported together with all others; none for a value of the wrong kind,
 * which the definition of the options reports.
 */
export function faultsOfHelmet(helmet: unknown): readonly Fault[] {
  try {
    if (helmetKind.accepts(helmet)) ownHelmetHeaders(helmet, true, []);
    return [];
  } catch (error) {
    if (error instanceof ConfigurationError) return error.faults;
    throw error;
  }
}
