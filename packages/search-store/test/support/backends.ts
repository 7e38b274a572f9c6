import { globSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { needsSharedPostgres, openTestDatabase, startPostgres } from "@svc/dev-services";
import { createSearchStore, hasVector, type SearchStore, type SearchStoreOptions } from "@svc/search-store";
import { openEmbedded } from "@svc/search-store/pglite";
import type { Connectable, Queryable } from "@svc/sql";
import { Pool } from "pg";

/** A database that has pgvector. */
export interface Backend {
  readonly name: "embedded" | "server";
  readonly db: Queryable & Connectable;
  /** URL of a superuser login, if it is a server. */
  readonly url: string | undefined;
  /** Creates a store with its own table; three dimensions by default. */
  readonly store: (options?: Partial<SearchStoreOptions>) => Promise<SearchStore>;
  /** Creates a store on the emptied table {@link SHARED}, since a new table takes longer than most tests. */
  readonly emptied: (options?: Partial<SearchStoreOptions>) => Promise<SearchStore>;
}

/** The table for tests that do not need their own table. */
export const SHARED = "chunks_shared";

interface Opened {
  readonly all: readonly Backend[];
  close(): Promise<void>;
}

interface Server {
  readonly pool: Pool;
  readonly url: string;
  readonly vector: boolean;
  close(): Promise<void>;
}

interface Shared<T> {
  users: number;
  opened: Promise<T> | undefined;
}

// All test files of a process share the databases, since a PGlite takes seconds and half a gigabyte to start. The last
// user closes them.
const databases: Shared<Opened> = { users: 0, opened: undefined };
const servers: Shared<Server> = { users: 0, opened: undefined };
let tables = 0;

/**
 * Provides a `describe` with all available databases that have pgvector: the embedded one, and a real server if the
 * installed PostgreSQL or the one that the tests use has pgvector.
 */
export function useBackends(): { readonly all: readonly Backend[] } {
  const server = useServer();
  const opened = useShared("databases with pgvector", databases, () => open(server));
  return {
    get all() {
      return opened().all;
    },
  };
}

/** Provides a `describe` with a real server, with or without pgvector. */
export function useServer(): () => Server {
  needsSharedPostgres();
  return useShared("a server", servers, openServer);
}

function useShared<T extends { close(): Promise<void> }>(
  title: string,
  shared: Shared<T>,
  make: () => Promise<T>,
): () => T {
  let mine: T | undefined;
  shared.users += 1;
  before(`open ${title}`, async function () {
    this.timeout(120_000);
    mine = await (shared.opened ??= make());
  });
  after(`close ${title}`, async function () {
    this.timeout(60_000);
    shared.users -= 1;
    if (shared.users > 0) return;
    const last = shared.opened;
    shared.opened = undefined;
    await (await last)?.close();
  });
  return () => {
    if (mine === undefined) throw new Error(`${title} exist only inside tests and hooks`);
    return mine;
  };
}

async function open(server: () => Server): Promise<Opened> {
  // Without these flags, V8 takes longer to optimize the WebAssembly module than the tests take to run.
  for (const flag of ["liftoff-only", "no-wasm-tier-up", "no-wasm-dynamic-tiering"])
    setFlagsFromString(`--${flag}`);
  const embedded = await openEmbedded();
  const all = [backendOf("embedded", embedded, undefined)];
  const { vector, pool, url } = server();
  if (vector) all.push(backendOf("server", pool, url));
  return { all, close: () => embedded.close() };
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

/** Returns a unique table name. */
export function newTable(): string {
  return `chunks_${++tables}`;
}

async function openServer(): Promise<Server> {
  const installed = globSync("/usr/{lib,share}/postgresql/*/{lib/vector.so,extension/vector.control}");
  if (installed.length > 0) {
    const server = await startPostgres({ purpose: "test", only: "system" });
    const found = await serverOf(server.url, async () => {
      await server.stop();
    });
    if (found.vector) return found;
    await found.close();
  }
  const database = await openTestDatabase({ name: "search" });
  return serverOf(database.url, async () => {
    await database[Symbol.asyncDispose]();
  });
}

async function serverOf(url: string, end: () => Promise<unknown>): Promise<Server> {
  const pool = poolOf(url);
  const close = async (): Promise<void> => {
    await pool.end();
    await end();
  };
  return { pool, url, vector: await hasVector(pool), close };
}

function poolOf(connectionString: string): Pool {
  const pool = new Pool({ connectionString, max: 5 });
  pool.on("error", () => undefined);
  return pool;
}
