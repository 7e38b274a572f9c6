import { type DedicatedConnection, replyWord, runScript, type Script } from "@svc/redis";
import { withDeadline } from "@svc/resilience";
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Delivery, Subscriber, Subscription } from "../bus/broker.ts";
import { createAcks } from "./acks.ts";
import { type Entry, entriesOf, messageOf, streamsOf } from "./entries.ts";
import type { ResolvedRedisStreams } from "./options.ts";
import { RECLAIM, REFRESH, RELEASE, TIDY } from "./scripts.ts";

/** A subscription's connections and options. */
export interface Surroundings {
  readonly options: ResolvedRedisStreams;
  /** The connection for all non-blocking commands. */
  readonly commands: DedicatedConnection;
  /** The connection for the blocking read. */
  readonly reader: DedicatedConnection;
  /** Returns the key of a topic's stream. */
  readonly keyOf: (topic: string) => string;
}

/** An entry that was read from a stream. */
export interface RedisDelivery extends Delivery {
  readonly stream: string;
  readonly entry: string;
}

const LONGEST_BLOCK_MS = 5000;
const LONGEST_KEEP_ALIVE_MS = 10_000;

/**
 * Returns how long one read may block, in milliseconds. The time is short, because each read also shows that this
 * consumer is alive.
 */
export function blockMs(minIdleMs: number): number {
  return Math.ceil(Math.min(LONGEST_BLOCK_MS, minIdleMs));
}

/** Creates a subscription that reads the topics' streams as one consumer of a group. */
export function createSubscription(
  subscriber: Subscriber<RedisDelivery>,
  { options, commands, reader, keyOf }: Surroundings,
): Subscription<RedisDelivery> {
  const { group, prefetch, startFrom, stopping } = subscriber;
  const { timeoutMs, minIdleMs, trimEverySeconds } = options;
  const idleMs = Math.ceil(minIdleMs);
  // Host and process id show an operator where the consumer runs.
  const consumer = `${hostname().replaceAll(/[^\w.-]/g, "_")}-${process.pid}-${randomUUID().slice(0, 8)}`;
  const topics = new Map(subscriber.topics.map((topic) => [keyOf(topic), topic] as const));
  const streams = [...topics.keys()];
  const cursors = new Map<string, string>();
  // Where each group started. A re-created group starts there again, so that it misses no message published in the
  // meantime.
  const begun = new Map<string, string>();
  let tidyAt = Infinity;
  let unstarted: readonly RedisDelivery[] = [];
  const acknowledge = createAcks(async (stream, ids) => {
    await ask((client) => client.xack(stream, group, ...ids));
  }, stopping);

  const ask: DedicatedConnection["send"] = (send) =>
    withDeadline(timeoutMs, () => commands.send(send), { onTimeout: () => commands.renew() });

  const run = (script: Script, stream: string, ...args: readonly (string | number)[]): Promise<unknown> =>
    ask((client) => runScript(client, script, [stream], [group, consumer, ...args]));

  /** Creates the group on every stream that lacks it. */
  async function createGroups(): Promise<void> {
    for (const stream of streams) {
      try {
        const from = startFrom === "oldest" ? "0" : (begun.get(stream) ?? "$");
        await ask((client) => client.xgroup("CREATE", stream, group, from, "MKSTREAM"));
      } catch (error) {
        if (replyWord(error) !== "BUSYGROUP") throw error;
      }
      if (startFrom === "newest" && !begun.has(stream)) {
        const at = positionOf(await ask((client) => client.xinfo("GROUPS", stream)), group);
        if (at !== undefined) begun.set(stream, at);
      }
    }
  }

  function deliver(stream: string, entry: Entry, deliveries: number): void {
    const message = messageOf(topics.get(stream) ?? stream, entry);
    if (message !== undefined) {
      const position = `${stream} ${entry.id}`;
      subscriber.deliver({ position, message, deliveries, stream, entry: entry.id });
      return;
    }
    subscriber.skipped({ stream, entry: entry.id });
    void acknowledge(stream, entry.id);
  }

  /** Reads new entries. Blocks until entries arrive, at most for the time of `blockMs()`. */
  async function fetch(count: number): Promise<void> {
    await reader.connected(stopping);
    if (stopping.aborted) return;
    // COUNT applies to each stream.
    const each = Math.max(1, Math.floor(count / streams.length));
    const block = blockMs(minIdleMs);
    const keys = [...streams, ...streams.map(() => ">")];
    try {
      const answer = await reader.send((client) =>
        client.xreadgroup("GROUP", group, consumer, "COUNT", each, "BLOCK", block, "STREAMS", ...keys),
      );
      for (const { key, entries } of streamsOf(answer)) {
        for (const entry of entriesOf(entries)) deliver(key, entry, 1);
      }
    } catch (error) {
      // A Redis server that restarted without data has lost its groups.
      if (replyWord(error) !== "NOGROUP") throw error;
      await createGroups();
    }
  }

  /** Signals that this consumer is alive, and drops entries that another consumer has taken over. */
  async function refresh(): Promise<void> {
    for (const stream of streams) {
      const mine = subscriber.all().filter((delivery) => delivery.stream === stream);
      if (mine.length === 0) continue;
      const lost = await run(REFRESH, stream, ...mine.map(({ entry }) => entry));
      for (const id of Array.isArray(lost) ? lost : []) subscriber.drop(`${stream} ${String(id)}`);
    }
  }

  /** Takes over entries from consumers that send no heartbeats. */
  async function reclaim(): Promise<void> {
    for (const stream of streams) {
      const free = prefetch - subscriber.all().length;
      if (free <= 0 || stopping.aborted) return;
      const answer = await run(RECLAIM, stream, idleMs, cursors.get(stream) ?? "0-0", free);
      if (!Array.isArray(answer)) continue;
      const [cursor, list] = answer as readonly unknown[];
      cursors.set(stream, String(cursor));
      for (const each of list as readonly (readonly unknown[])[]) {
        for (const entry of entriesOf([each])) deliver(stream, entry, Number(each[2]));
      }
    }
  }

  /** Removes long-dead consumers, and entries that every group has acknowledged. */
  async function tidy(): Promise<void> {
    if (stopping.aborted || trimEverySeconds === 0 || performance.now() < tidyAt) return;
    tidyAt = performance.now() + trimEverySeconds * 1000;
    for (const stream of streams) await run(TIDY, stream, 4 * idleMs);
  }

  return {
    readers: [{ fetch }],
    keepAliveMs: Math.min(LONGEST_KEEP_ALIVE_MS, minIdleMs / 3),
    async open() {
      tidyAt = performance.now() + trimEverySeconds * 1000;
      await createGroups();
    },
    acknowledge: ({ stream, entry }) => acknowledge(stream, entry),
    async keepAlive() {
      try {
        await refresh();
        await reclaim();
        await tidy();
      } catch (error) {
        // The reader re-creates lost groups.
        if (replyWord(error) !== "NOGROUP") throw error;
      }
    },
    stop(list) {
      unstarted = list;
      reader.close();
    },
    /** Makes all entries available to other consumers immediately. */
    async close(abandoned) {
      // Redis counted the delivery of these entries although no handler received them, so subtract it.
      const counts = [
        ...unstarted.map((delivery) => [delivery, Math.max(0, delivery.deliveries - 1)] as const),
        ...abandoned.map((delivery) => [delivery, delivery.deliveries] as const),
      ];
      await Promise.allSettled(
        streams.map((stream) => {
          const mine = counts.filter(([delivery]) => delivery.stream === stream);
          return run(RELEASE, stream, idleMs, ...mine.flatMap(([{ entry }, count]) => [entry, count]));
        }),
      );
    },
  };
}

/** Returns the id of the last entry delivered to a group, from a reply to XINFO GROUPS. */
function positionOf(answer: unknown, group: string): string | undefined {
  if (!Array.isArray(answer)) return undefined;
  const one = (answer as readonly unknown[]).find((each) => Array.isArray(each) && each[1] === group);
  const fields = (one ?? []) as readonly unknown[];
  const at = fields.indexOf("last-delivered-id");
  return at === -1 ? undefined : String(fields[at + 1]);
}
