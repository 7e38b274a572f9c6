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

// One PGlite costs seconds and half a gigabyte, and a server a second: all files of a process share them, and the last one closes.
const databases: Shared<Opened> = { users: 0, opened: undefined };
const servers: Shared<Server> = { users: 0, opened: undefined };
let tables = 0;

/**
 * For a `describe`: every backend that is here. The embedded one always; after it a real server, where an installed PostgreSQL or
 * the one of the tests has pgvector.
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

/** For a `describe`: a real server, with pgvector or without. */
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
    if (mine === undefined) throw new Error(`${title} exist only inside of tests and hooks`);
    return mine;
  };
}

async function open(server: () => Server): Promise<Opened> {
  // Making it fast takes V8 more seconds of a processor than all that the tests do with it.
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

/** A name that no other test has. */
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
