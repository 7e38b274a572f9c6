import { Command, type Redis } from "ioredis";
import { type ClusterClient, type CommandArgument, isCluster, type RedisClient } from "./client.ts";
import { createClient } from "./create-client.ts";
import { followConnection } from "./connection-state.ts";
import { NotConnectedError } from "./errors.ts";
import type { ResolvedRedisOptions } from "./options.ts";
import { createOutgoing } from "./outgoing.ts";
import { slotOf } from "./slot.ts";

/** A command in flight. `reject` rejects `promise`, unless the reply has arrived. */
export interface Sent {
  readonly promise: Promise<unknown>;
  readonly reject: (error: Error) => void;
}

/** Sends a command, or rejects if it cannot be sent. */
export type Send = (command: string, args: readonly CommandArgument[]) => Sent;

/** A server; `send` is undefined while a cluster has no connection to it. */
export interface Server {
  readonly name: string;
  readonly send: Send | undefined;
}

/** A connection to a Redis server or cluster, without deadlines. */
export type Connection = ReturnType<typeof openConnection>;

/** The name of the only server, if the connection is not to a cluster. */
export const ONLY = "only";
const SLOTS = 16_384;

/** Opens a connection, or uses the caller's client. */
export function openConnection(
  options: ResolvedRedisOptions,
  events: { readonly onReady: () => void; readonly onFailure: (word: string) => void },
) {
  const { client: given, closeClient, keyPrefix } = options;
  const own = given === undefined ? createClient(options) : undefined;
  const client: RedisClient = given ?? (own as RedisClient);
  const cluster = isCluster(client) ? client : undefined;
  // The client prepends its own prefix to keys that already have ours, and the slot depends on both.
  const clientPrefix = String(client.options?.keyPrefix ?? "");
  const prefix = given === undefined ? keyPrefix : clientPrefix + keyPrefix;
  let isClosed = false;
  const state = followConnection(client, {
    onReady: events.onReady,
    onFailure: (word) => {
      if (!isClosed) events.onFailure(word);
    },
    onLost() {
      for (const sent of inFlight) sent.reject(new Error("the connection was lost"));
    },
    onWrongDatabase: () => own?.disconnect(true),
  });
  // Commands in flight on the caller's client. `onLost` rejects them, because the client may keep them for its next
  // connection instead.
  const inFlight = new Set<Sent>();
  const sendNow =
    own === undefined || cluster !== undefined ? sendByCall : sendByRedis(own as Redis, keyPrefix);

  if (client.status === "wait") client.connect().catch(() => undefined);
  // Call `onReady` after this function has returned, because `onReady` uses the returned connection.
  if (state.isUp) queueMicrotask(events.onReady);

  // This function serves clusters and callers' clients. A cluster needs ioredis's automatic pipelining, which costs more CPU
  // than the rest of a command.
  function sendByCall(command: string, args: readonly CommandArgument[]): Sent {
    if (given === undefined) return sentOf(client.call(command, ...args));
    const sent = sentOf(client.call(command, ...prefixed(command, args, keyPrefix)));
    inFlight.add(sent);
    const forget = (): void => void inFlight.delete(sent);
    sent.promise.then(forget, forget);
    return sent;
  }

  /**
   * Sends a command. During the first connection attempt after startup or a lost connection, the command waits for the
   * outcome of that attempt. At other times it rejects if there is no connection. Commands of one event-loop iteration are
   * sent together.
   */
  function send(command: string, args: readonly CommandArgument[]): Sent {
    if (state.isUp) return sendNow(command, args);
    if (!state.isFirstAttempt) return sentOf(Promise.reject(new NotConnectedError(state.lastFailure)));
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const cancel = state.wait((connected) => {
      if (connected) sendNow(command, args).promise.then(resolve, reject);
      else reject(new NotConnectedError(state.lastFailure));
    });
    return {
      promise,
      reject(error) {
        cancel();
        reject(error);
      },
    };
  }

  return {
    send,
    /** Sends a harmless command that only this server can reply to. */
    probe(server: string): Sent {
      if (cluster === undefined) return send("ping", []);
      const key = Array.from({ length: SLOTS }, (_, index) => `{${index}}`).find(
        (each) => cluster.slots[slotOf(each)]?.[0] === server,
      );
      return send("exists", [key ?? "{}"]);
    },
    /**
     * Returns the server for a command, or undefined if its keys are in several slots. ioredis would reject all
     * commands that are sent together with such a command.
     */
    serverOf(command: string, args: readonly CommandArgument[]): string | undefined {
      if (cluster === undefined) return ONLY;
      const [slot, ...others] = slotsOf(command, args, prefix);
      if (others.length > 0) return undefined;
      return (slot === undefined ? undefined : cluster.slots[slot]?.[0]) ?? ONLY;
    },
    /**
     * Returns the servers that hold keys, or one entry for the whole connection while a cluster's slots are unknown.
     */
    servers(): readonly Server[] {
      const servers = cluster === undefined ? [] : serversOf(cluster);
      return servers.length === 0 ? [{ name: ONLY, send }] : servers;
    },
    isCluster: cluster !== undefined,
    /** A keyword for the last connection failure. */
    get lastFailure(): string | undefined {
      return state.lastFailure;
    },
    close(): void {
      isClosed = true;
      if (own !== undefined || closeClient) client.disconnect();
      else state.release();
    },
  };
}

function serversOf(cluster: ClusterClient): readonly Server[] {
  const masters = new Map<string, Send>(
    cluster.nodes("master").map((node) => {
      const send: Send = (command, args) => sentOf(node.call(command, ...args));
      return [`${node.options.host}:${node.options.port}`, send];
    }),
  );
  const names = new Set(cluster.slots.map((nodes) => nodes[0] ?? ""));
  return [...names].map((name) => ({ name, send: masters.get(name) }));
}

function slotsOf(command: string, args: readonly CommandArgument[], keyPrefix: string): ReadonlySet<number> {
  const keys = new Command(command, [...args], { keyPrefix }).getKeys();
  return new Set(keys.map((key) => slotOf(String(key))));
}

/** Returns the arguments with the prefix before each key. */
function prefixed(
  command: string,
  args: readonly CommandArgument[],
  keyPrefix: string,
): readonly CommandArgument[] {
  if (keyPrefix === "") return args;
  return new Command(command, [...args], { keyPrefix }).args as CommandArgument[];
}

function sendByRedis(client: Redis, keyPrefix: string): Send {
  const outgoing = createOutgoing(client);
  const written = { keyPrefix, replyEncoding: "utf8" } as const;
  return (command, args) => {
    const sent = new Command(command, [...args], written);
    client.sendCommand(sent, outgoing);
    return sent;
  };
}

function sentOf(answer: Promise<unknown>): Sent {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  answer.then(resolve, reject);
  return { promise, reject };
}
