/** An argument of a command. */
export type CommandArgument = string | number | Buffer;

/** The members of an ioredis client that a connection uses. */
export interface RedisClient {
  /** Commands are sent only in the status `ready`. In the status `wait`, the connection calls `connect()`. */
  readonly status: string;
  /** Options of the client. In a cluster, the key prefix affects the slots of keys. */
  readonly options?: { readonly keyPrefix?: string | undefined } | undefined;
  readonly isCluster?: boolean | undefined;
  call(command: string, ...args: CommandArgument[]): Promise<unknown>;
  /** Adds a listener for `ready`, `error`, `close`, `end` and, for a cluster, `node error`. */
  on(event: string, listener: (error: unknown) => void): unknown;
  off(event: string, listener: (error: unknown) => void): unknown;
  connect(): Promise<unknown>;
  disconnect(reconnect?: boolean): void;
}

/** The members of ioredis `Cluster` that a connection uses. */
export interface ClusterClient extends RedisClient {
  readonly slots: readonly (readonly string[])[];
  nodes(role: "master"): readonly ClusterNode[];
}

interface ClusterNode {
  readonly options: { readonly host?: string | undefined; readonly port?: number | undefined };
  call(command: string, ...args: CommandArgument[]): Promise<unknown>;
}

/** Returns whether a client's keys are spread over several servers. */
export function isCluster(client: RedisClient): client is ClusterClient {
  return client.isCluster === true;
}
