import { until } from "@svc/test-support";
import { createPostgresTokenStore, type PostgresTokenStore } from "@svc/token-store/postgres";
import { Client, Pool } from "pg";

/** A pool and a store on it, for one test. */
export interface Bench extends AsyncDisposable {
  readonly pool: Pool;
  readonly store: PostgresTokenStore;
}

type Options = Omit<Parameters<typeof createPostgresTokenStore>[0], "db">;

/** Opens a store and creates its table, with deadlines that a busy machine meets. */
export async function openStore(url: string, options: Options = {}, max = 16): Promise<Bench> {
  const pool = openPool(url, max);
  const store = createPostgresTokenStore({ db: pool, sweepEverySeconds: 0, timeoutMs: 10_000, ...options });
  await store.ensureSchema();
  return {
    pool,
    store,
    async [Symbol.asyncDispose]() {
      await store.stop();
      await pool.end();
    },
  };
}

export function openPool(url: string, max = 16): Pool {
  const pool = new Pool({ connectionString: url, max });
  pool.on("error", () => undefined);
  return pool;
}

/** An open transaction of another client. `end()` ends it with a rollback or a commit; disposal rolls it back. */
export interface Holder extends AsyncDisposable {
  readonly client: Client;
  end(how?: "rollback" | "commit"): Promise<void>;
}

/** Starts a transaction with one statement and leaves it open. */
export async function hold(url: string, sql: string, values: unknown[] = []): Promise<Holder> {
  const client = new Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  let ended = false;
  const end = async (how = "rollback"): Promise<void> => {
    if (ended) return;
    ended = true;
    await client.query(how);
    await client.end();
  };
  await client.query("begin");
  await client.query(sql, values);
  return { client, end, [Symbol.asyncDispose]: () => end() };
}

/** Locks the row of a token, so that every rotation of the token waits. */
export function holdToken(url: string, jti: string): Promise<Holder> {
  return hold(url, "insert into svc_auth_marks (key, expires_at) values ($1, now())", [`jti:${jti}`]);
}

/** Waits until a backend other than `other` waits for a lock, and returns its process id. */
export async function waiter(pool: Pool, other = 0): Promise<number> {
  let pid = 0;
  await until("a backend waits for a lock", async () => {
    const { rows } = await pool.query<{ pid: number }>(
      `select pid from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock' and pid <> $1`,
      [other],
    );
    pid = rows[0]?.pid ?? 0;
    return pid !== 0;
  });
  return pid;
}

/** Waits until no backend waits for a lock. */
export async function noCallWaits(pool: Pool): Promise<void> {
  await until("no backend waits for a lock", async () => {
    const { rows } = await pool.query(
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    return rows.length === 0;
  });
}
