import { randomBytes } from "node:crypto";
import { needsSharedPostgres, openTestDatabase, startPostgres } from "@svc/dev-services";
import { hasVector } from "@svc/search-store";
import pg from "pg";

/** A server with pgvector, for the tests of a `describe`. */
export interface VectorServer {
  /** Creates an empty database, and returns its URL with the login of a superuser. */
  database(): Promise<string>;
}

/**
 * Provides a `describe` with a PostgreSQL that has pgvector: the installed one, else the server that all tests share.
 * Without pgvector on either, the tests are skipped.
 */
export function vectorServer(): VectorServer {
  needsSharedPostgres();
  let url: string | undefined;
  const closers: (() => Promise<unknown>)[] = [];

  before("start a server with pgvector", async function () {
    this.timeout(60_000);
    for (const open of [openSystem, openShared]) {
      const server = await open().catch(() => undefined);
      if (server === undefined) continue;
      closers.push(() => server.close());
      if (await isFit(server.url)) {
        ({ url } = server);
        return;
      }
    }
    this.skip();
  });
  after("stop the server with pgvector", async function () {
    this.timeout(60_000);
    for (const close of closers) await close();
  });

  return {
    async database() {
      const name = `rag_${randomBytes(4).toString("hex")}`;
      const admin = new pg.Client({ connectionString: url });
      await admin.connect();
      // The strategy `file_copy` takes two thirds of the CPU time of PostgreSQL's default, `wal_log`.
      await admin.query(`create database ${name} template template0 strategy file_copy`);
      await admin.end();
      const made = new URL(url ?? "");
      made.pathname = `/${name}`;
      return made.href;
    },
  };
}

interface Opened {
  readonly url: string;
  close(): Promise<unknown>;
}

async function openSystem(): Promise<Opened> {
  const server = await startPostgres({ purpose: "test", only: "system" });
  return { url: server.url, close: async () => server.stop() };
}

async function openShared(): Promise<Opened> {
  const database = await openTestDatabase({ name: "rag" });
  return { url: database.url, close: async () => database[Symbol.asyncDispose]() };
}

async function isFit(url: string): Promise<boolean> {
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  try {
    return await hasVector(pool);
  } finally {
    await pool.end();
  }
}
