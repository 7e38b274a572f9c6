import type { Table } from "@svc/config";
import type { Database } from "@svc/database";
import { boolean, integer, number, secret, string, withDefault } from "@svc/options";
import type { PluginContext, PluginParts } from "./plugin.ts";

/** `[plugin.database]`. */
export interface DatabaseSettings {
  /** `postgres://...`; usually a reference such as `${DATABASE_URL}`. Required. */
  readonly url: string;
  /** The most connections. Default: 10. */
  readonly max: number;
  /** Time limit for opening a connection, in seconds. Default: 2. */
  readonly connectTimeoutSeconds: number;
  /** Time limit for one statement, in seconds. Default: 10. */
  readonly statementTimeoutSeconds: number;
  /** Time limit for getting a connection from the pool, in seconds. Default: 2. */
  readonly acquireTimeoutSeconds: number;
  /** Whether the service is unavailable without the database (RDY-13). Default: true. */
  readonly critical: boolean;
}

const seconds = number({ min: 0.001, max: 3600 });

export const databaseTable: Table<DatabaseSettings> = {
  keys: {
    url: {
      key: "url",
      kind: secret(string({ pattern: /^postgres(ql)?:\/\//, expects: "a URL postgres://..." })),
    },
    max: { key: "max", kind: withDefault(integer({ min: 1, max: 1000 }), 10) },
    connectTimeoutSeconds: { key: "connect_timeout", kind: withDefault(seconds, 2) },
    statementTimeoutSeconds: { key: "statement_timeout", kind: withDefault(seconds, 10) },
    acquireTimeoutSeconds: { key: "acquire_timeout", kind: withDefault(seconds, 2) },
    critical: { key: "critical", kind: withDefault(boolean(), true) },
  },
};

/** Returns the connection pool and its readiness check. */
export async function databasePlugin(
  settings: DatabaseSettings,
  { service, logger }: PluginContext,
): Promise<PluginParts & { readonly db: Database }> {
  const { createDatabase } = await import("@svc/database");
  const db = createDatabase({
    url: settings.url,
    max: settings.max,
    connectTimeoutMs: settings.connectTimeoutSeconds * 1000,
    statementTimeoutMs: settings.statementTimeoutSeconds * 1000,
    acquireTimeoutMs: settings.acquireTimeoutSeconds * 1000,
    critical: settings.critical,
    applicationName: service,
    logger,
  });
  return { db, checks: [db.readiness()], onStop: ["close", () => db.stop()] };
}
