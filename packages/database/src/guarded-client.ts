import type { Breaker } from "@svc/resilience";
import { BreakerOpenError } from "@svc/resilience";
import type { Socket } from "node:net";
import { Client, type ClientBase, type ClientConfig } from "pg";

type Connected = (error: Error | null, client?: Client) => void;

/** State shared by all connections in one pool. */
export interface Guard {
  readonly breaker: Breaker;
  readonly connectTimeoutMs: number;
  /** Incremented when the server hangs; connections from earlier generations are closed instead of lent. */
  generation: number;
  /** Connections that are open or being opened. */
  readonly open: Set<ClientBase>;
  /** Number of connections being opened. */
  connecting: number;
  /** The generation in which each connection was opened. */
  readonly madeIn: WeakMap<ClientBase, number>;
}

/**
 * Returns the client class for a pool. It opens no connection while the breaker is open, and aborts a connection
 * attempt after `connectTimeoutMs`.
 */
export function guardedClient(guard: Guard): new (config?: ClientConfig) => Client {
  return class GuardedClient extends Client {
    constructor(config: ClientConfig = {}) {
      // The pool makes the password non-enumerable, so the spread does not copy it.
      super({ ...config, password: config.password, connectionTimeoutMillis: guard.connectTimeoutMs });
      // The pool adds its listener only after `connect()`. A dying server may send its error together with the
      // handshake, and an error without a listener ends the process.
      this.on("error", ignore);
    }

    override connect(): Promise<Client>;
    override connect(callback: Connected): void;
    override connect(callback?: Connected): Promise<Client> | undefined {
      const connecting = connectGuarded(guard, this, () => super.connect());
      if (callback === undefined) return connecting;
      connecting.then(
        () => callback(null, this),
        (error: Error) => callback(error),
      );
      return undefined;
    }
  };
}

async function connectGuarded(
  guard: Guard,
  client: Client,
  connect: () => Promise<unknown>,
): Promise<Client> {
  const { breaker, open, madeIn } = guard;
  const attempt = breaker.attempt();
  if (attempt === undefined) throw new BreakerOpenError(breaker.retryAfterMs);
  madeIn.set(client, guard.generation);
  open.add(client);
  client.once("end", () => open.delete(client));
  guard.connecting += 1;
  try {
    await connect();
    attempt.succeeded();
    return client;
  } catch (error) {
    open.delete(client);
    attempt.failed();
    throw error;
  } finally {
    guard.connecting -= 1;
  }
}

const ignore = (): void => undefined;

/**
 * Destroys a connection's socket without the protocol's termination message. Ignores the error that this causes.
 *
 * @returns a promise that resolves when the socket is closed
 */
export async function cut(client: ClientBase): Promise<void> {
  client.on("error", ignore);
  const { stream } = (client as Partial<WithSocket>).connection ?? {};
  if (stream === undefined || stream.closed === true) return;
  const closed = new Promise((resolve) => stream.once("close", resolve));
  stream.destroy();
  await closed;
}

interface WithSocket {
  readonly connection: { readonly stream?: Pick<Socket, "closed" | "destroy" | "once"> };
}

/**
 * Sends a statement without the `query_timeout` of its connection. After a stall of this process, that timer of `pg` rejects a
 * statement whose answer has arrived. A cursor keeps it, because it has no other time limit.
 */
export function withoutTimer<T>(client: ClientBase, statement: unknown, send: () => T): T {
  const { connectionParameters } = client as Partial<WithParameters>;
  const { submit } = Object(statement) as { readonly submit?: unknown };
  if (connectionParameters === undefined || typeof submit === "function") return send();
  const { query_timeout: timeout } = connectionParameters;
  // `pg` reads the limit while it is called.
  connectionParameters.query_timeout = false;
  try {
    return send();
  } finally {
    connectionParameters.query_timeout = timeout;
  }
}

interface WithParameters {
  readonly connectionParameters: { query_timeout: unknown };
}
