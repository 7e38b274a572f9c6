import { type PostgresServer, startPostgres } from "@svc/dev-services";
import { statfsSync } from "node:fs";
import pg from "pg";

// Durable settings, with checkpoints too rare to slow down some rows and not others.
const settings = {
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",
  shared_buffers: "256MB",
  max_wal_size: "8GB",
  min_wal_size: "4GB",
  checkpoint_timeout: "30min",
};
const SEGMENTS = 200;
const SHOWN = [...Object.keys(settings), "wal_sync_method", "autovacuum", "server_version"];

/** @param isUsed whether to prepare the server as if it had run for a while, which takes about ten seconds */
export async function startDurable(isUsed: boolean): Promise<PostgresServer> {
  const server = await startPostgres({ purpose: "test", settings });
  if (isUsed) await prepareSegments(server.url);
  return server;
}

/**
 * Creates WAL segments that the server can reuse, as on a server that has run for a while. Creating a segment takes 50
 * ms, which would otherwise affect some rows and not others.
 */
async function prepareSegments(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (let n = 0; n < SEGMENTS; n++) {
    await client.query("select pg_logical_emit_message(true, 'bench', '')");
    await client.query("select pg_switch_wal()");
  }
  await client.query("checkpoint");
  await client.end();
}

/** Runs a checkpoint, so that the server writes its buffers to the disk. */
export async function settle(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("checkpoint");
  await client.end();
}

/** Creates a database and returns its URL. */
export async function makeDatabase(serverUrl: string, name: string): Promise<string> {
  const database = name.replaceAll("-", "_");
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  await client.query(`create database ${database}`);
  await client.end();
  const url = new URL(serverUrl);
  url.pathname = `/${database}`;
  return url.href;
}

const TMPFS = 0x0102_1994;

/** Returns why latencies on the disk of this folder are not comparable; undefined if they are. */
export function doubtOf(folder: string): string | undefined {
  return statfsSync(folder).type === TMPFS
    ? "the data are in memory, and no commit waits for a disk"
    : undefined;
}

/** Returns the server's durability settings. */
export async function durability(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows: shown } = await client.query<{ name: string; setting: string }>(
    "select name, current_setting(name) as setting from pg_settings where name = any($1) order by name",
    [SHOWN],
  );
  await client.end();
  return [shown.map(({ name, setting }) => `${name}=${setting}`).join(", ")];
}
