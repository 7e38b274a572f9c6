import pg from "pg";

/** Opens the pools and clients of one test file. */
export interface Connections {
  readonly pool: (options?: pg.PoolConfig) => pg.Pool;
  readonly client: () => Promise<pg.Client>;
  /** Closes all open pools and clients. */
  readonly end: () => Promise<void>;
}

export function connections(url: () => string): Connections {
  const open: { end(): Promise<void> }[] = [];
  return {
    pool: (options = {}) => {
      const pool = new pg.Pool({ connectionString: url(), ...options });
      pool.on("error", () => undefined);
      open.push(pool);
      return pool;
    },
    client: async () => {
      const client = new pg.Client({ connectionString: url() });
      client.on("error", () => undefined);
      await client.connect();
      open.push(client);
      return client;
    },
    end: async () => {
      await Promise.all(open.splice(0).map((each) => each.end().catch(() => undefined)));
    },
  };
}
