import { type Attempt, type Breaker, BreakerOpenError, withDeadline } from "@svc/resilience";
import { Client, type ClientBase, type ClientConfig, type Pool, type PoolClient } from "pg";
import { cut } from "./guarded-client.ts";
import type { ResolvedDatabase } from "./options.ts";
import { hasEnded } from "./pool-kind.ts";
import type { PoolSource } from "./pool-source.ts";
import { exhausted, notAnswering } from "./problems.ts";

/**
 * Maximum number of timed-out requests in the pool's queue, from which they cannot be removed. At the limit, new requests are
 * rejected.
 */
const MOST_ABANDONED = 1000;

/**
 * Guards the connections that it lends from the caller's pool. Changes no setting of the pool and its connections, which
 * the caller also uses directly.
 */
export function guardPool(options: ResolvedDatabase, pool: Pool, breaker: Breaker): PoolSource {
  const { acquireTimeoutMs, closePool } = options;
  const { max } = pool.options;
  /** Incremented when the server hangs; connections from earlier generations are closed instead of lent. */
  let generation = 0;
  const madeIn = new WeakMap<ClientBase, number>();
  /** Connections that this package or the caller has taken from the pool since this call. */
  const taken = new Set<ClientBase>();
  /** Number of connections that were in use before. */
  let takenBefore = pool.totalCount - pool.idleCount;
  const open = new Set<ClientBase>();
  /** Number of requests that have timed out but are still in the pool's queue. */
  let abandoned = 0;
  const onReturn = new Map<ClientBase, () => void>();
  /** Whether the pool has opened a connection since the last failure. */
  let hasOpened = false;
  let closed = false;

  const onConnect = (client: PoolClient): void => {
    hasOpened = true;
    madeIn.set(client, generation);
    // An error may arrive in the same packet as the end of the handshake, before the borrower can add a listener.
    // `onRelease` removes this one.
    client.on("error", ignore);
  };
  const onAcquire = (client: PoolClient): void => void taken.add(client);
  const onRelease = (_error: unknown, client: PoolClient): void => {
    if (!taken.delete(client)) takenBefore = Math.max(0, takenBefore - 1);
    client.removeListener("error", ignore);
    open.delete(client);
    onReturn.get(client)?.();
  };
  pool.on("connect", onConnect);
  pool.on("acquire", onAcquire);
  pool.on("release", onRelease);

  // `totalCount - idleCount` includes connections that are still being opened, which are not in use. So does the initial value
  // of `takenBefore`.
  function inUse(): number {
    const notIdle = pool.totalCount - pool.idleCount;
    takenBefore = Math.max(0, Math.min(takenBefore, notIdle - taken.size));
    return Math.min(taken.size + takenBefore, notIdle);
  }

  function isCurrent(client: PoolClient): boolean {
    // A connection that is older than this call counts as opened when it is first lent.
    if (!madeIn.has(client)) madeIn.set(client, generation);
    return madeIn.get(client) === generation;
  }

  async function connect(): Promise<PoolClient> {
    // Each round closes one of the pool's old connections, of which there are at most `max`; later rounds get new ones.
    for (let round = 0; round <= max; round++) {
      const client = await lendable();
      if (closed) {
        client.release();
        throw stopped();
      }
      // The caller may have returned a connection with an open transaction, which the next statements would join.
      if (isCurrent(client) && !isInTransaction(client)) {
        open.add(client);
        return client;
      }
      client.release(true);
      void cut(client);
    }
    throw notAnswering(new Error("the connections that the pool opens are in a transaction"));
  }

  function failed(attempt = breaker.attempt()): void {
    hasOpened = false;
    attempt?.failed();
  }

  async function lendable(): Promise<PoolClient> {
    if (closed) throw stopped();
    if (hasEnded(pool)) throw notAnswering(new Error(POOL_HAS_ENDED));
    if (abandoned >= MOST_ABANDONED) throw exhausted(new Error("too many requests wait for a connection"));
    // The pool continues to open a connection after the deadline of the request that needed it.
    if (hasOpened && breaker.state !== "closed") breaker.attempt()?.succeeded();
    const attempt = attemptToOpen();
    try {
      const client = await withDeadline(acquireTimeoutMs, take, { onTimeout: () => (abandoned += 1) });
      if (isCurrent(client)) attempt?.succeeded();
      else attempt?.cancelled();
      return client;
    } catch (error) {
      if (hasEnded(pool)) {
        attempt?.cancelled();
        throw notAnswering(new Error(POOL_HAS_ENDED, { cause: error }));
      }
      if (inUse() >= max) {
        attempt?.cancelled();
        throw exhausted(error);
      }
      failed(attempt);
      throw notAnswering(error, breaker.retryAfterMs);
    }
  }

  /** Returns an attempt of the breaker if the pool has to open a connection, else undefined. */
  function attemptToOpen(): Attempt | undefined {
    if (pool.idleCount > pool.waitingCount || inUse() >= max) return undefined;
    const attempt = breaker.attempt();
    if (attempt !== undefined) return attempt;
    const { retryAfterMs } = breaker;
    throw notAnswering(new BreakerOpenError(retryAfterMs), retryAfterMs);
  }

  async function take(signal: AbortSignal): Promise<PoolClient> {
    try {
      const client = await pool.connect();
      // The deadline has passed, so no caller waits for this connection.
      if (signal.aborted) client.release();
      return client;
    } finally {
      if (signal.aborted) abandoned -= 1;
    }
  }

  async function returned(client: ClientBase): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    onReturn.set(client, resolve);
    client.once("end", resolve);
    await promise;
    client.removeListener("end", resolve);
  }

  return {
    pool,
    max,
    // The pool hides the password from enumeration, so the spread does not copy it.
    client: { ...pool.options, password: pool.options.password },
    newClient: (config) => new (clientClassOf(pool))(config),
    lendsNone: () => (hasEnded(pool) ? POOL_HAS_ENDED : undefined),
    open,
    isLimited: false,
    connect,
    onStuck(client) {
      if (!isCurrent(client)) return;
      generation += 1;
      failed();
    },
    async close() {
      closed = true;
      if (closePool) {
        // At the deadline, cut the connections that the caller has taken as well.
        for (const client of taken) open.add(client);
        if (!hasEnded(pool)) await pool.end();
      }
      await Promise.all([...open].map(returned));
    },
    detach(onError) {
      pool.removeListener("connect", onConnect);
      pool.removeListener("acquire", onAcquire);
      pool.removeListener("release", onRelease);
      pool.removeListener("error", onError);
      for (const client of taken) client.removeListener("error", ignore);
    },
  };
}

const POOL_HAS_ENDED = "the pool has ended";

const ignore = (): void => undefined;

// The pool's class may connect in its own way, for example with a token that it requests.
function clientClassOf(pool: Pool): new (config: ClientConfig) => Client {
  const { Client: own } = pool as { readonly Client?: unknown };
  return typeof own === "function" ? (own as typeof Client) : Client;
}

const stopped = (): Error => notAnswering(new Error("the database was stopped"));

function isInTransaction(client: PoolClient): boolean {
  const status = (client as Partial<PoolClient>).getTransactionStatus?.();
  return status === "T" || status === "E";
}
