import { mkdir } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { defineOptions, kinds as k, type OptionsOf } from "@svc/options";
import type { Connectable, PooledConnection, Queryable, QueryResult, Row } from "@svc/sql";
import type { PGlite } from "@electric-sql/pglite";
import { SearchError } from "./errors.ts";
import { lockFolder } from "./embedded/lock-file.ts";
import { loadPglite } from "./embedded/peers.ts";
import { createTurns } from "./embedded/turns.ts";

const embeddedOptions = defineOptions("openEmbedded()", {
  /** Folder for the data; its lock file is next to it. Default: none; the data is then in memory only. */
  dataDir: {
    kind: k.optional(
      k.string({ pattern: /^(?!\w{2,}:\/\/)[^\0]+$/, expects: "a folder; omit it to keep data in memory" }),
    ),
  },
  /** Milliseconds to wait for the connection, 1 to 3,600,000. Default: 30000. */
  waitTimeoutMs: { kind: k.withDefault(k.integer({ min: 1, max: 3_600_000 }), 30_000) },
});

/** Options of {@link openEmbedded}. */
export type EmbeddedOptions = OptionsOf<typeof embeddedOptions>;

/** The only connection of an embedded database, while a caller holds it. */
export interface EmbeddedConnection extends PooledConnection {
  /** Runs a `copy ... from '/dev/blob'` that reads these buffers as its file. */
  copyFile(text: string, file: readonly Buffer[]): Promise<void>;
}

/** A PostgreSQL inside this process: a pool of one connection. A caller that holds it must not request another one. */
export interface EmbeddedDatabase extends Queryable, Connectable, AsyncDisposable {
  readonly embedded: true;
  connect(): Promise<EmbeddedConnection>;
  /** Waits for running statements and closes the database. Further calls return the same promise. */
  close(): Promise<void>;
}

/**
 * Opens a PGlite with pgvector, for services whose server lacks it: for search only, up to about ten thousand chunks.
 *
 * @throws SearchError `ERR_SVC_SEARCH_PEER` if PGlite is not installed, `ERR_SVC_SEARCH_EMBEDDED` while another process uses the
 *   folder
 * @throws ConfigurationError
 */
export async function openEmbedded(given: EmbeddedOptions = {}): Promise<EmbeddedDatabase> {
  const { dataDir, waitTimeoutMs } = embeddedOptions.resolve(given);
  const open = await loadPglite();
  const folder = dataDir === undefined ? undefined : resolve(dataDir);
  if (folder !== undefined) await mkdir(dirname(folder), { recursive: true });
  const unlock = folder === undefined ? undefined : await lockFolder(folder);
  try {
    return databaseOf(await open(folder), waitTimeoutMs, unlock);
  } catch (error) {
    await unlock?.();
    throw error;
  }
}

function databaseOf(
  pglite: PGlite,
  waitTimeoutMs: number,
  unlock: (() => Promise<void>) | undefined,
): EmbeddedDatabase {
  const turns = createTurns(waitTimeoutMs);
  let closing: Promise<void> | undefined;

  const checkOpen = (): void => {
    if (closing !== undefined) throw gone("it is closed");
  };
  const connect = async (): Promise<EmbeddedConnection> => {
    checkOpen();
    const end = await turns.take();
    if (closing !== undefined) end();
    checkOpen();
    let released = false;
    const checkHeld = (): void => {
      if (released) throw gone("the connection was released");
    };
    return {
      async query<R extends Row>(text: string, values?: unknown[]): Promise<QueryResult<R>> {
        checkHeld();
        return run<R>(pglite, text, values);
      },
      async copyFile(text, file) {
        checkHeld();
        await withoutValues(
          pglite.query(text, [], { blob: new Blob(file.map((part) => new Uint8Array(part))) }),
        );
      },
      release() {
        released = true;
        end();
      },
    };
  };
  const close = async (): Promise<void> => {
    const end = await turns.take();
    try {
      await pglite.close();
    } finally {
      end();
      await unlock?.();
    }
  };
  const closeOnce = (): Promise<void> => (closing ??= close());
  return {
    embedded: true,
    connect,
    async query<R extends Row>(text: string, values?: unknown[]): Promise<QueryResult<R>> {
      const connection = await connect();
      try {
        return await connection.query<R>(text, values);
      } finally {
        connection.release();
      }
    },
    close: closeOnce,
    [Symbol.asyncDispose]: closeOnce,
  };
}

async function run<R extends Row>(pglite: PGlite, text: string, values?: unknown[]): Promise<QueryResult<R>> {
  if (values !== undefined && values.length > 0) return withoutValues(pglite.query<R>(text, values));
  // The string may contain several statements; return the last one's result.
  const results = await withoutValues(pglite.exec(text));
  const last = results.at(-1);
  return last === undefined ? { rows: [], rowCount: null } : { ...last, rows: last.rows as R[] };
}

/** Removes the statement and its values from errors, since they must not reach a log. */
async function withoutValues<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (typeof error === "object" && error !== null) {
      for (const key of ["query", "params", "queryOptions"]) Reflect.deleteProperty(error, key);
    }
    throw error;
  }
}

function gone(what: string): SearchError {
  return new SearchError("ERR_SVC_SEARCH_EMBEDDED", `the embedded database is not available: ${what}`);
}
