import { randomBytes } from "node:crypto";
import { startPostgres } from "@svc/dev-services";
import { hasVector } from "@svc/search-store";
import pg from "pg";
import { type Place, versionOf } from "./place.ts";

/** The environment variable that may name a server. */
export const VARIABLE = "SVC_BENCH_DATABASE_URL";

// The settings of a production service: durable, and with memory for the whole corpus.
const settings = {
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",
  shared_buffers: "1GB",
  maintenance_work_mem: "1GB",
  max_parallel_maintenance_workers: "1",
  max_wal_size: "8GB",
};
const shown = [...Object.keys(settings), "work_mem", "random_page_cost", "jit"];

/** Thrown when there is no server with pgvector. The message states why. */
export class NoVectorServerError extends Error {}

/**
 * Creates a database on the server that the environment names, or else on an installed server that it starts.
 *
 * @throws NoVectorServerError when neither exists, or the server does not have pgvector
 */
export async function openServer(url: string | undefined): Promise<Place> {
  if (url !== undefined && url !== "") return openDatabase(url, VARIABLE, () => Promise.resolve());
  let server: Awaited<ReturnType<typeof startPostgres>>;
  try {
    server = await startPostgres({ purpose: "test", only: "system", settings });
  } catch (error) {
    throw new NoVectorServerError(`${VARIABLE} is not set, and no PostgreSQL is installed`, { cause: error });
  }
  const stop = (): Promise<void> => server.stop();
  return openDatabase(server.url, "an installed PostgreSQL, started for this", stop).catch(
    async (error: unknown) => {
      await stop();
      throw error;
    },
  );
}

async function openDatabase(adminUrl: string, what: string, stop: () => Promise<void>): Promise<Place> {
  const name = `svc_bench_${randomBytes(4).toString("hex")}`;
  await onServer(adminUrl, async (admin) => {
    if (!(await hasVector(admin))) throw new NoVectorServerError(`${what} has no pgvector of 0.8 or newer`);
    await admin.query(`create database ${name} template template0`);
  });
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  const drop = (): Promise<unknown> =>
    onServer(adminUrl, (admin) => admin.query(`drop database ${name} with (force)`));
  const about = await onServer(url.href, aboutOf).catch(async (error: unknown) => {
    await drop();
    throw error;
  });
  const pools: pg.Pool[] = [];
  return {
    kind: "server",
    url: url.href,
    about: [`${what}: ${about[0]}`, about[1]],
    connect() {
      const pool = new pg.Pool({ connectionString: url.href, max: 3, idleTimeoutMillis: 0 });
      pool.on("error", () => undefined);
      pools.push(pool);
      return Promise.resolve({
        query: (text, values) => pool.query<Record<string, unknown>>(text, values),
        database: pool,
        pool,
      });
    },
    preferApproximate: () => Promise.reject(new Error("sorting is disabled only on the embedded server")),
    async [Symbol.asyncDispose]() {
      await Promise.all(pools.map((pool) => pool.end()));
      await drop();
      await stop();
    },
  };
}

/** Creates the extension, and returns the versions and the settings. */
async function aboutOf(client: pg.Client): Promise<readonly [versions: string, settings: string]> {
  await client.query("create extension vector");
  const { rows } = await client.query<{ line: string }>(
    "select string_agg(name || '=' || current_setting(name, true), ' ') as line from unnest($1::text[]) as name",
    [shown],
  );
  return [await versionOf(client), rows[0]?.line ?? ""];
}

async function onServer<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  client.on("error", () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
