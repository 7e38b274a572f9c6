import type { Names } from "@svc/options";
import { type Breaker, BreakerOpenError } from "@svc/resilience";
import { Client, type ClientBase, Pool, type PoolClient } from "pg";
import { clientConfig } from "./client-config.ts";
import { cut, type Guard, guardedClient } from "./guarded-client.ts";
import type { ResolvedDatabase } from "./options.ts";
import type { PoolSource } from "./pool-source.ts";
import { exhausted, notAnswering } from "./problems.ts";

/**
 * Opens a pool whose connections have deadlines. It connects on first use.
 *
 * @param names how error messages name the options
 * @throws ConfigurationError
 */
export function openPool(options: ResolvedDatabase, names: Names, breaker: Breaker): PoolSource {
  const { max } = options;
  const client = clientConfig(options, names);
  const guard: Guard = {
    breaker,
    connectTimeoutMs: options.connectTimeoutMs,
    generation: 0,
    connecting: 0,
    open: new Set<ClientBase>(),
    madeIn: new WeakMap<ClientBase, number>(),
  };
  const pool = new Pool({
    ...client,
    max,
    Client: guardedClient(guard),
    connectionTimeoutMillis: options.acquireTimeoutMs,
    idleTimeoutMillis: options.idleTimeoutMs,
  });

  async function connect(): Promise<PoolClient> {
    for (;;) {
      const connection = await lendable();
      if (guard.madeIn.get(connection) === guard.generation) return connection;
      connection.release(true);
      void cut(connection);
    }
  }

  async function lendable(): Promise<PoolClient> {
    try {
      return await pool.connect();
    } catch (error) {
      if (error instanceof BreakerOpenError) throw notAnswering(error, error.retryAfterMs);
      // Count all connections in use, including those that callers took from `pool` directly, but not those that are
      // still being opened.
      const inUse = pool.totalCount - pool.idleCount - guard.connecting;
      throw inUse >= max ? exhausted(error) : notAnswering(error, breaker.retryAfterMs);
    }
  }

  return {
    pool,
    max,
    client,
    newClient: (config) => new Client(config),
    lendsNone: () => undefined,
    open: guard.open,
    isLimited: true,
    connect,
    onStuck(connection) {
      if (guard.madeIn.get(connection) !== guard.generation) return;
      guard.generation += 1;
      breaker.attempt()?.failed();
    },
    async close() {
      await pool.end();
      await Promise.all([...guard.open].map((each) => new Promise((resolve) => each.once("end", resolve))));
    },
    // Only this package uses the pool, so its listeners may stay.
    detach: () => undefined,
  };
}
