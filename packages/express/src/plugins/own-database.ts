import type { Database, DatabaseOptions } from "@svc/database";
import { databasePlugin } from "@svc/database/plugin";
import { defineOptions, kinds as k } from "@svc/options";
import { definePlugin } from "@svc/plugin";
import { hasMethods, isStopped, namesOfOwn, optionalSettings, refuseSettings } from "./own-connection.ts";

/** A pool of the caller, with whether the service closes it when it stops. */
export interface OwnPool {
  /** The `pg` pool. */
  readonly pool: NonNullable<DatabaseOptions["pool"]>;
  /** Whether the service closes the pool in the stop phase `close`. Default: false. */
  readonly closePool?: boolean | undefined;
}

/** A database of the application: from `createDatabase()`, or a `pg` pool. */
export type OwnDatabase = Database | OwnPool["pool"] | OwnPool;

const poolOptions = defineOptions("createService()", {
  pool: { kind: k.secret(k.objectWith<OwnPool["pool"]>("a pg pool")) },
  closePool: { kind: k.withDefault(k.boolean(), false) },
});

/** Replaces the plugin `database` when the application provides a pool or a database. */
export const ownDatabasePlugin = definePlugin({
  name: "database",
  options: defineOptions("[plugin.database]", {
    ...optionalSettings(databasePlugin.options),
    /** A database from `createDatabase()`, a `pg` pool, or `{ pool, closePool }`. */
    database: {
      kind: k.secret(
        k.objectWith<OwnDatabase>("a database from createDatabase(), a pg pool, or { pool, closePool }"),
      ),
    },
  }),
  async start({ options: { database, ...settings }, logger, nameOf }) {
    if (isDatabase(database)) {
      refuseSettings("database", settings, nameOf, hasEnded(database.pool) || (await isStopped(database)));
      return { parts: { db: database }, checks: [database.readiness()] };
    }
    const { createDatabase } = await import("@svc/database");
    const options = Object.hasOwn(database, "pool") ? (database as OwnPool) : undefined;
    const names = namesOfOwn("database", options ? ["pool", "closePool"] : [], "pool", nameOf);
    const given = options
      ? poolOptions.resolve(names({ ...options }))
      : { pool: database as OwnPool["pool"] };
    const db = createDatabase(names({ ...settings, ...given, logger }));
    return { parts: { db }, checks: [db.readiness()], stop: ["close", () => db.stop()] };
  },
});

function isDatabase(value: OwnDatabase): value is Database {
  return hasMethods(value, "query", "connect", "transaction", "withTenant", "readiness", "stop");
}

function hasEnded({ ending, ended }: Database["pool"]): boolean {
  return ending || ended;
}
