/** An argument of a command. */
export type CommandArgument = string | number | Buffer;

/** The members of a client of ioredis that a connection uses. */
export interface RedisClient {
  /** Commands are sent only while it is `ready`; a client in the state `wait` is asked to connect. */
  readonly status: string;
  /** Options of the client; the prefix decides the slots of keys in a cluster. */
  readonly options?: { readonly keyPrefix?: string | undefined } | undefined;
  readonly isCluster?: boolean | undefined;
  call(command: string, ...args: CommandArgument[]): Promise<unknown>;
  /** Adds a listener of `ready`, `error`, `close`, `end` and, for a cluster, `node error`. */
  on(event: string, listener: (error: unknown) => void): unknown;
  off(event: string, listener: (error: unknown) => void): unknown;
  connect(): Promise<unknown>;
  disconnect(reconnect?: boolean): void;
}

/** The members of `Cluster` of ioredis that a connection uses. */
export interface ClusterClient extends RedisClient {
  readonly slots: readonly (readonly string[])[];
  nodes(role: "master"): readonly ClusterNode[];
}

interface ClusterNode {
  readonly options: { readonly host?: string | undefined; readonly port?: number | undefined };
  call(command: string, ...args: CommandArgument[]): Promise<unknown>;
}

/** Returns whether the keys of a client are spread over several servers. */
export function isCluster(client: RedisClient): client is ClusterClient {
  return client.isCluster === true;
}
