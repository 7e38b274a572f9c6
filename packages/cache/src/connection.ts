import { Cluster, Command, type Redis } from "ioredis";
import { makeClient } from "./client.ts";
import { connectionWord, isOfSelect } from "./errors.ts";
import type { ResolvedOptions } from "./options.ts";
import { createOutgoing } from "./outgoing.ts";
import { slotOf } from "./slot.ts";

/** An argument of a command. */
export type CommandArgument = string | number | Buffer;

/** A command in flight. Calling `reject` before the reply decides the error of its promise. */
export interface Sent {
  readonly promise: Promise<unknown>;
  readonly reject: (error: Error) => void;
}

/** Sends a command, or rejects if it cannot. */
export type Send = (command: string, args: readonly CommandArgument[]) => Sent;

/** One server of a cluster, to call directly. */
export interface Server {
  call(command: string, ...args: CommandArgument[]): Promise<unknown>;
}

/** A server of a cluster; `server` is undefined while there is no connection to it. */
export interface NamedServer {
  readonly name: string;
  readonly server: Server | undefined;
}

/** Thrown by {@link Connection.send} without a connection. */
export class NotConnectedError extends Error {
  override readonly name = "NotConnectedError";
}

export interface Connection {
  /**
   * Sends a command. During the first attempt to connect, after the start or a lost connection, the command waits for its
   * outcome. Otherwise it rejects without a connection. Commands of one turn of the event loop are sent together.
   */
  readonly send: Send;
  /** Sends a harmless command that only this server can answer. */
  readonly probe: (server: string) => Sent;
  /**
   * Returns the server for a command; undefined if its keys are in several slots. ioredis would reject all commands that are
   * sent together with such a command.
   */
  serverOf(command: string, args: readonly CommandArgument[]): string | undefined;
  /** Returns the servers of a cluster that hold keys; none without a cluster, or while its slots are unknown. */
  servers(): readonly NamedServer[];
  /** A keyword for the last connection failure. */
  readonly lastFailure: string | undefined;
  close(): void;
}

/** Listeners for the connection as a whole. */
export interface ConnectionEvents {
  readonly onReady: () => void;
  readonly onFailure: (word: string) => void;
}

export const ONLY = "only";
const SLOTS = 16_384;

export function openConnection(options: ResolvedOptions, events: ConnectionEvents): Connection {
  const client = makeClient(options);
  const waiters = new Set<(connected: boolean) => void>();
  let up = false;
  // Whether the first attempt after the start or a lost connection is still running.
  let hoping = true;
  let closed = false;
  let lastFailure: string | undefined;
  // Whether the server rejected SELECT. Commands would then reach database 0, which may belong to another application.
  let elsewhere = false;
  const sendNow = client instanceof Cluster ? sendByCluster(client) : sendByRedis(client, options.keyPrefix);

  function settle(connected: boolean): void {
    const all = [...waiters];
    waiters.clear();
    for (const tell of all) tell(connected);
  }

  function failed(error: unknown): void {
    lastFailure = connectionWord(error);
    if (!closed) events.onFailure(lastFailure);
    if (!isOfSelect(error)) return;
    elsewhere = true;
    client.disconnect(true);
  }

  client.on("error", failed);
  client.on("ready", () => {
    if (elsewhere) return;
    up = true;
    hoping = true;
    lastFailure = undefined;
    settle(true);
    events.onReady();
  });
  client.on("close", () => {
    elsewhere = false;
    if (up) {
      up = false;
      return;
    }
    hoping = false;
    settle(false);
  });
  client.on("end", () => {
    hoping = false;
    settle(false);
  });
  if (client instanceof Cluster)
    client.on("node error", (error: unknown) => (lastFailure = connectionWord(error)));

  function send(command: string, args: readonly CommandArgument[]): Sent {
    if (client.status === "ready") return sendNow(command, args);
    if (!hoping) return sentOf(Promise.reject(new NotConnectedError()));
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const tell = (connected: boolean): void => {
      if (connected) sendNow(command, args).promise.then(resolve, reject);
      else reject(new NotConnectedError());
    };
    waiters.add(tell);
    return {
      promise,
      reject(error) {
        waiters.delete(tell);
        reject(error);
      },
    };
  }

  function probe(server: string): Sent {
    if (!(client instanceof Cluster)) return send("ping", []);
    const key = Array.from({ length: SLOTS }, (_, index) => `{${index}}`).find(
      (each) => client.slots[slotOf(each)]?.[0] === server,
    );
    return send("exists", [key ?? "{}"]);
  }

  function slotsOf(command: string, args: readonly CommandArgument[]): ReadonlySet<number> {
    const { keyPrefix } = options;
    const keys = new Command(command, [...args], { keyPrefix }).getKeys();
    return new Set(keys.map((key) => slotOf(String(key))));
  }

  return {
    send,
    probe,
    serverOf(command, args) {
      if (!(client instanceof Cluster)) return ONLY;
      const [slot, ...others] = slotsOf(command, args);
      if (others.length > 0) return undefined;
      return (slot === undefined ? undefined : client.slots[slot]?.[0]) ?? ONLY;
    },
    servers() {
      if (!(client instanceof Cluster)) return [];
      const masters = new Map<string, Redis>(
        client.nodes("master").map((node) => [`${node.options.host}:${node.options.port}`, node] as const),
      );
      const names = new Set(client.slots.map((nodes) => nodes[0] ?? ""));
      return [...names].map((name) => ({ name, server: masters.get(name) }));
    },
    get lastFailure() {
      return lastFailure;
    },
    close() {
      closed = true;
      client.disconnect();
    },
  };
}

/** Makes a function that sends to one server of a cluster. */
export function sendTo(server: Server): Send {
  return (command, args) => sentOf(server.call(command, ...args));
}

// A cluster needs the automatic pipelining of ioredis, which costs more CPU than the rest of a command.
function sendByCluster(client: Cluster): Send {
  return (command, args) => sentOf(client.call(command, ...args));
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
