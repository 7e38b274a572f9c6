import type { Client, ClientBase, ClientConfig, Pool, PoolClient } from "pg";

/** A pool with deadlines for its connections: one that this package opened, or the caller's. */
export interface PoolSource {
  readonly pool: Pool;
  /** Maximum number of connections. */
  readonly max: number;
  /** Configuration for the connection of the readiness check. */
  readonly client: ClientConfig;
  /** Creates the connection of the readiness check. */
  readonly newClient: (config: ClientConfig) => Client;
  /** Returns why the pool lends no connections any more; undefined while it does. */
  readonly lendsNone: () => string | undefined;
  /** Connections that are cut if `close()` does not end in time. */
  readonly open: Set<ClientBase>;
  /** Whether the connections were opened with the time limit of a statement, so that server and driver have it too. */
  readonly isLimited: boolean;
  /**
   * Returns a connection that was not open when the server last hung.
   *
   * @throws ProblemError 503
   */
  connect(): Promise<PoolClient>;
  /**
   * Retires all existing connections, because they lead to the same hung server. Does nothing if the given connection, on which
   * a statement hangs, is retired already: one hang of the server counts as one failure.
   */
  readonly onStuck: (client: PoolClient) => void;
  /** Waits until the connections are returned, and closes the pool if this package has to close it. */
  close(): Promise<void>;
  /** Removes this package's listeners, including the given listener for errors, from the caller's pool. */
  detach(onError: (error: Error) => void): void;
}
