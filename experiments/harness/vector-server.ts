import { startPostgres } from "@svc/dev-services";
import { hasVector } from "@svc/search-store";
import { openEmbedded } from "@svc/search-store/pglite";
import type { Database, Queryable } from "@svc/sql";
import pg from "pg";

/** A PostgreSQL with pgvector and a login in it that owns what it makes. */
export interface VectorServer extends AsyncDisposable {
  readonly name: string;
  /** Of the login, which is no superuser. */
  readonly db: Database;
  /** One statement as the login. */
  query: Queryable["query"];
}

/** What the login may do beside its own. */
export interface LoginOptions {
  /** Whether row security does not hold for it. */
  readonly bypassesRowSecurity: boolean;
}

/** An installed server where it has pgvector, else the embedded one. */
export async function startVectorServer(options: LoginOptions): Promise<VectorServer> {
  return (await startReal(options)) ?? startEmbedded(options);
}

async function startReal(options: LoginOptions): Promise<VectorServer | undefined> {
  const server = await startPostgres({ purpose: "test", only: "system" }).catch(() => undefined);
  if (server === undefined) return undefined;
  const admin = new pg.Pool({ connectionString: server.url, max: 1 });
  admin.on("error", () => undefined);
  const found = await hasVector(admin);
  if (found) await prepare((text) => admin.query(text), options);
  await admin.end();
  if (!found) {
    await server.stop();
    return undefined;
  }
  const url = new URL(server.url);
  url.username = "service";
  url.password = "service";
  const db = new pg.Pool({ connectionString: url.href, max: 6 });
  db.on("error", () => undefined);
  return {
    name: `PostgreSQL ${server.version}`,
    db,
    query: (text, values) => db.query(text, values),
    async [Symbol.asyncDispose]() {
      await db.end();
      await server.stop();
    },
  };
}

async function startEmbedded(options: LoginOptions): Promise<VectorServer> {
  const db = await openEmbedded();
  await prepare((text) => db.query(text), options);
  await db.query("set role service");
  return {
    name: "the embedded PostgreSQL",
    db,
    query: (text, values) => db.query(text, values),
    [Symbol.asyncDispose]: () => db.close(),
  };
}

async function prepare(
  run: (text: string) => Promise<unknown>,
  { bypassesRowSecurity }: LoginOptions,
): Promise<void> {
  await run("create extension vector");
  const bypass = bypassesRowSecurity ? "bypassrls" : "nobypassrls";
  await run(`create role service login password 'service' nosuperuser ${bypass}`);
  await run("grant usage, create on schema public to service");
}
