import { openTestLogin, type PostgresServer, startPostgres } from "@svc/dev-services";
import { hasVector } from "@svc/search-store";
import { openEmbedded } from "@svc/search-store/pglite";
import type { Database, Queryable } from "@svc/sql";
import { randomBytes } from "node:crypto";
import pg from "pg";

/** A PostgreSQL server with pgvector, and a login that owns the tables that it creates. */
export interface VectorServer extends AsyncDisposable {
  readonly name: string;
  /** A connection pool of the login, which is not a superuser. */
  readonly db: Database;
  /** Runs one statement as the login. */
  query: Queryable["query"];
}

/** The login's additional privileges. */
export interface LoginOptions {
  /** Whether the login bypasses row security. */
  readonly bypassesRowSecurity: boolean;
}

/** Starts the installed PostgreSQL if it has pgvector, otherwise the embedded one. */
export async function startVectorServer(options: LoginOptions): Promise<VectorServer> {
  return (await startReal(options)) ?? startEmbedded(options);
}

let running: { readonly server: Promise<PostgresServer | undefined>; users: number } | undefined;

/**
 * Starts the installed server once and shares it; the last user stops it. Resolves with undefined when none is
 * installed.
 */
async function holdServer(): Promise<
  { readonly url: string; readonly version: string; release(): Promise<void> } | undefined
> {
  running ??= {
    server: startPostgres({ purpose: "test", only: "system" }).catch(() => undefined),
    users: 0,
  };
  const held = running;
  held.users += 1;
  const server = await held.server;
  return (
    server && {
      url: server.url,
      version: server.version,
      async release() {
        held.users -= 1;
        if (held.users > 0) return;
        if (running === held) running = undefined;
        await server.stop();
      },
    }
  );
}

async function startReal({ bypassesRowSecurity }: LoginOptions): Promise<VectorServer | undefined> {
  const held = await holdServer();
  if (held === undefined) return undefined;
  await using made = new AsyncDisposableStack();
  made.defer(() => held.release());
  const admin = made.adopt(poolOf(held.url, 1), (pool) => pool.end());
  if (!(await hasVector(admin))) return undefined;
  const name = `vectors_${randomBytes(4).toString("hex")}`;
  await admin.query(`create database ${name}`);
  const url = new URL(held.url);
  url.pathname = `/${name}`;
  const owner = made.adopt(poolOf(url.href, 1), (pool) => pool.end());
  await owner.query("create extension vector");
  const login = await openTestLogin({
    url: url.href,
    attributes: `nosuperuser ${bypassOf(bypassesRowSecurity)}`,
    grants: ["grant usage, create on schema public to login"],
  });
  const db = made.adopt(poolOf(login.url, 6), (pool) => pool.end());
  const all = made.move();
  return {
    name: `PostgreSQL ${held.version}`,
    db,
    query: (text, values) => db.query(text, values),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

function poolOf(url: string, max: number): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max });
  pool.on("error", () => undefined);
  return pool;
}

async function startEmbedded({ bypassesRowSecurity }: LoginOptions): Promise<VectorServer> {
  const db = await openEmbedded();
  await db.query("create extension vector");
  await db.query(`create role service nosuperuser ${bypassOf(bypassesRowSecurity)}`);
  await db.query("grant usage, create on schema public to service");
  await db.query("set role service");
  return {
    name: "the embedded PostgreSQL",
    db,
    query: (text, values) => db.query(text, values),
    [Symbol.asyncDispose]: () => db.close(),
  };
}

function bypassOf(bypasses: boolean): string {
  return bypasses ? "bypassrls" : "nobypassrls";
}
