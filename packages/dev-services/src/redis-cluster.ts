import { setTimeout as sleep } from "node:timers/promises";
import { fixtureOf, testProgram } from "./mocha.ts";
import { redisCommands } from "./redis-command.ts";
import { type RedisServer, startRedis } from "./redis.ts";

/** A Redis Cluster without replicas: the masters share all slots. */
export interface RedisCluster extends AsyncDisposable {
  /** The nodes, in slot order. */
  readonly nodes: readonly RedisServer[];
  /** The addresses of the nodes, through which a client finds the cluster. */
  readonly seeds: readonly { readonly host: string; readonly port: number }[];
  /** Stops all nodes. */
  stop(): Promise<void>;
}

const SLOTS = 16_384;

/**
 * Starts a Redis Cluster on 127.0.0.1. It stops when this process ends, even by SIGKILL.
 *
 * @throws NoServerError if Redis is not installed; Error if the nodes do not find each other within 30 s
 */
export async function startRedisCluster({
  nodes: count = 3,
}: { readonly nodes?: number | undefined } = {}): Promise<RedisCluster> {
  const nodes: RedisServer[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.stop()));
  };
  try {
    for (let index = 0; index < count; index++) nodes.push(await startRedis({ clusterNode: true }));
    await join(nodes);
  } catch (error) {
    await stop();
    throw error;
  }
  const seeds = nodes.map(({ port }) => ({ host: "127.0.0.1", port }));
  return { nodes, seeds, stop, [Symbol.asyncDispose]: stop };
}

async function join(nodes: readonly RedisServer[]): Promise<void> {
  const [first] = nodes;
  for (const [index, { url }] of nodes.entries()) {
    const from = Math.floor((index * SLOTS) / nodes.length);
    const to = Math.floor(((index + 1) * SLOTS) / nodes.length) - 1;
    const meet = ["CLUSTER", "MEET", "127.0.0.1", String(first?.port), String(first?.busPort)];
    await redisCommands(url, [
      ["CLUSTER", "SET-CONFIG-EPOCH", String(index + 1)],
      ["CLUSTER", "ADDSLOTSRANGE", String(from), String(to)],
      ...(index === 0 ? [] : [meet]),
    ]);
  }
  const end = performance.now() + 30_000;
  for (const { url } of nodes) {
    while (!(await serves(url))) {
      if (performance.now() > end) throw new Error("the nodes of the Redis Cluster did not find each other");
      await sleep(20);
    }
  }
}

/** Returns whether a node serves or redirects requests, which it does once it knows an owner for every slot. */
async function serves(url: string): Promise<boolean> {
  try {
    await redisCommands(url, [["EXISTS", "key"]]);
    return true;
  } catch (error) {
    return error instanceof Error && error.message.startsWith("MOVED ");
  }
}

/** The cluster for one `describe`, whose tests may stop, kill and start its nodes. */
export interface TestRedisCluster {
  /** Available only in tests and hooks. */
  readonly cluster: RedisCluster;
}

/**
 * Provides a `describe` with its own Redis Cluster of three nodes. Without Redis the `describe` is skipped, as by
 * {@link testProgram}.
 */
export function testRedisCluster(): TestRedisCluster {
  testProgram("redis");
  return fixtureOf(["cluster"], {
    what: "the Redis Cluster",
    names: ["testRedisCluster()", "startRedisCluster()"],
    open: async () => ({ cluster: await startRedisCluster() }),
    close: ({ cluster }) => cluster.stop(),
  });
}
