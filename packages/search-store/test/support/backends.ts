import { existsSync, globSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { openTestDatabase, startPostgres } from "@svc/dev-services";
import { createSearchStore, hasVector, type SearchStore, type SearchStoreOptions } from "@svc/search-store";
import { openEmbedded } from "@svc/search-store/pglite";
import type { Connectable, Queryable } from "@svc/sql";
import { Pool } from "pg";

/** A database that has pgvector. */
export interface Backend {
  readonly name: "embedded" | "server";
  readonly db: Queryable & Connectable;
  /** Of a superuser, where it is a server. */
  readonly url: string | undefined;
  /** A store with a table of its own, made already: three dimensions unless said. */
  readonly store: (options?: Partial<SearchStoreOptions>) => Promise<SearchStore>;
  /** A store on the table {@link SHARED}, which is emptied: making one costs more than most tests. Three dimensions. */
  readonly emptied: (options?: Partial<SearchStoreOptions>) => Promise<SearchStore>;
}

/** The table of tests that need no special one. */
export const SHARED = "chunks_shared";

interface Opened {
  readonly all: readonly Backend[];
  close(): Promise<void>;
}

// One PGlite costs seconds and half a gigabyte: all files of a process share it, and the last one closes it.
let users = 0;
let opened: Promise<Opened> | undefined;
let tables = 0;

/**
 * For a `describe`: every backend that is here. The embedded one always; a real server where the one of the tests has pgvector, or where
 * an installed PostgreSQL has it.
 */
export function useBackends(): { readonly all: readonly Backend[] } {
  let all: readonly Backend[] | undefined;
  users += 1;
  before("databases with pgvector", async function () {
    this.timeout(120_000);
    all = (await (opened ??= open())).all;
  });
  after("close the databases", async function () {
    this.timeout(60_000);
    users -= 1;
    if (users > 0) return;
    const last = opened;
    opened = undefined;
    await (await last)?.close();
  });
  return {
    get all() {
      if (all === undefined) throw new Error("backends exist only inside of tests and hooks");
      return all;
    },
  };
}

async function open(): Promise<Opened> {
  // Making it fast takes V8 more seconds of a processor than all that the tests do with it.
  setFlagsFromString("--liftoff-only");
  const embedded = await openEmbedded();
  const server = await openServer();
  const all = [backendOf("embedded", embedded, undefined)];
  if (server !== undefined) all.push(backendOf("server", server.pool, server.url));
  return {
    all,
    async close() {
      await embedded.close();
      await server?.close();
    },
  };
}

function backendOf(name: Backend["name"], db: Backend["db"], url: string | undefined): Backend {
  let made: Promise<unknown> | undefined;
  return {
    name,
    db,
    url,
    async store(options = {}) {
      const store = createSearchStore({ db, dimensions: 3, table: newTable(), ...options });
      await store.ensureSchema();
      return store;
    },
    async emptied(options = {}) {
      const store = createSearchStore({ db, dimensions: 3, table: SHARED, ...options });
      await (made ??= store.ensureSchema());
      await db.query(`delete from ${SHARED}`);
      return store;
    },
  };
}

/** A name that no other test has. */
export function newTable(): string {
  return `chunks_${++tables}`;
}

interface Server {
  readonly pool: Pool;
  readonly url: string;
  close(): Promise<void>;
}

async function openServer(): Promise<Server | undefined> {
  const database = await openTestDatabase({ name: "search" });
  const pool = poolOf(database.url);
  const close = async (): Promise<void> => {
    await pool.end();
    await database[Symbol.asyncDispose]();
  };
  if (await hasVector(pool)) return { pool, url: database.url, close };
  await close();
  const installed = globSync("/usr/{lib,share}/postgresql/*/{lib/vector.so,extension/vector.control}");
  return installed.some((file) => existsSync(file)) ? openInstalled() : undefined;
}

async function openInstalled(): Promise<Server | undefined> {
  const server = await startPostgres({ purpose: "test", only: "system" });
  const pool = poolOf(server.url);
  const close = async (): Promise<void> => {
    await pool.end();
    await server.stop();
  };
  if (await hasVector(pool)) return { pool, url: server.url, close };
  await close();
  return undefined;
}

function poolOf(connectionString: string): Pool {
  const pool = new Pool({ connectionString, max: 5 });
  pool.on("error", () => undefined);
  return pool;
}
