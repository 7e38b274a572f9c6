import pg from "pg";

/** Pools and clients of one test file; `end()` closes what is left open. */
export function connections(url: () => string) {
  const open: { end(): Promise<void> }[] = [];
  return {
    pool(options: pg.PoolConfig = {}): pg.Pool {
      const pool = new pg.Pool({ connectionString: url(), ...options });
      pool.on("error", () => undefined);
      open.push(pool);
      return pool;
    },
    async client(): Promise<pg.Client> {
      const client = new pg.Client({ connectionString: url() });
      client.on("error", () => undefined);
      await client.connect();
      open.push(client);
      return client;
    },
    async end(): Promise<void> {
      await Promise.all(open.splice(0).map((each) => each.end().catch(() => undefined)));
    },
  };
}
