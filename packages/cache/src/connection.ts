import { Cluster, Command, type Redis } from "ioredis";
import { makeClient } from "./client.ts";
import { connectionWord, isOfSelect } from "./errors.ts";
import type { Send, Sent } from "./gate.ts";
import type { ResolvedOptions } from "./options.ts";
import { createOutgoing } from "./outgoing.ts";
import { slotOf } from "./slot.ts";

/** What a command takes. */
export type CommandArgument = string | number | Buffer;

/** One server to ask directly. */
export interface Server {
  call(command: string, ...args: CommandArgument[]): Promise<unknown>;
}

/** A server of a cluster; undefined when there is no connection to it. */
export interface NamedServer {
  readonly name: string;
  readonly server: Server | undefined;
}

/** Thrown by {@link Connection.send} where there is nothing to send on. */
export class NotConnectedError extends Error {
  override readonly name = "NotConnectedError";
}

export interface Connection {
  /**
   * Sends a command. While the first try to connect after the start or after a loss is under way it waits for the
   * outcome, otherwise it needs a connection at once. Commands of one turn of the event loop travel together.
   */
  readonly send: Send;
  /** Sends something harmless that only this server can answer. */
  readonly probe: (server: string) => Sent;
  /**
   * Which server is to carry out a command; undefined where its keys lie in several slots. ioredis would refuse all that
   * travels together with such a command.
   */
  serverOf(command: string, args: readonly CommandArgument[]): string | undefined;
  /** The servers of a cluster that hold keys; none outside of a cluster, and while the cluster is not known. */
  servers(): readonly NamedServer[];
  /** A word about the last failure of a connection. */
  readonly lastFailure: string | undefined;
  close(): void;
}

/** Told about the connection as a whole. */
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
  // Whether the first try after the start or after a loss is still under way.
  let hoping = true;
  let closed = false;
  let lastFailure: string | undefined;
  // Whether the server refused the database: what is sent would end up in the first one, which may be somebody else's.
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

/** Sends to one server of a cluster. */
export function sendTo(server: Server): Send {
  return (command, args) => sentOf(server.call(command, ...args));
}

// The gathering of commands that ioredis has, which a cluster needs for want of another, costs more than all the rest.
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
