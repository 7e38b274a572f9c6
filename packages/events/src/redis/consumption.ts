import { backoff, withDeadline } from "@svc/resilience";
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { createHand, type Held } from "../bus/hand.ts";
import { createJournal, type RunningConsumption, runningConsumption } from "../bus/running.ts";
import type { ConsumeOptions } from "../event-bus.ts";
import { createAcks } from "./acks.ts";
import { type Entry, entriesOf, messageOf, streamsOf } from "./entries.ts";
import { explained, replyWord } from "./errors.ts";
import { createGroupMember } from "./groups.ts";
import type { Line } from "./line.ts";
import type { ResolvedRedisStreams } from "./options.ts";

/** The connections and options of a consumption. */
export interface Surroundings {
  readonly options: ResolvedRedisStreams;
  /** The connection for all commands that do not block. */
  readonly commands: Line;
  /** The connection for the blocking read. */
  readonly reader: Line;
  /** Returns the stream of a topic. */
  readonly keyOf: (topic: string) => string;
}

interface Taken extends Held {
  readonly stream: string;
  readonly entry: string;
}

const LONGEST_BLOCK_MS = 5000;

/**
 * Returns how long one read may block, in milliseconds; short, because each read also shows that this consumer lives.
 */
export function blockMs(minIdleMs: number): number {
  return Math.ceil(Math.min(LONGEST_BLOCK_MS, minIdleMs));
}

/** @throws errors of Redis or the client when the groups cannot be created within `timeoutMs` */
export async function startConsumption(
  given: ConsumeOptions,
  { options, commands, reader, keyOf }: Surroundings,
): Promise<RunningConsumption> {
  const { group, handler, concurrency = 1 } = given;
  const { timeoutMs, minIdleMs, trimEverySeconds, startFrom } = options;
  // Host and process id tell an operator where the consumer runs.
  const consumer = `${hostname().replaceAll(/[^\w.-]/g, "_")}-${process.pid}-${randomUUID().slice(0, 8)}`;
  const topics = new Map([...new Set(given.topics)].map((topic) => [keyOf(topic), topic] as const));
  const streams = [...topics.keys()];
  const member = createGroupMember(commands, { group, consumer, streams, startFrom }, options);
  const journal = createJournal(given.logger ?? options.logger, "redis", group);
  const stopping = new AbortController();
  const ended = new AbortController();
  const pause = backoff({ baseMs: 100, minMs: 100, maxMs: 5000 });
  const retry = backoff({ baseMs: options.retryBaseMs, maxMs: options.retryMaxMs, jitter: "none" });
  const acks = createAcks((stream, ids) => member.acknowledge(stream, ids), stopping.signal);
  let roomMade = Promise.withResolvers<void>();

  const hand = createHand<Taken>({
    concurrency,
    capacity: Math.max(options.prefetch, concurrency),
    handler,
    pauseMs: retry,
    acknowledge: ({ stream, entry }) => acks.add(stream, entry),
    rejected: (held, error, pauseMs) => journal.rejected(held, error, pauseMs),
    room: () => roomMade.resolve(),
  });

  function take(stream: string, entry: Entry, deliveries: number): void {
    const message = messageOf(topics.get(stream) ?? stream, entry);
    if (message !== undefined) {
      hand.add({ at: `${stream} ${entry.id}`, message, deliveries, stream, entry: entry.id });
      return;
    }
    journal.unreadable({ stream, entry: entry.id });
    void acks.add(stream, entry.id);
  }

  /** Reads new entries; blocks until there are some or the time is over. */
  function next(count: number): Promise<unknown> {
    return reader.send((client) =>
      client.xreadgroup(
        "GROUP",
        group,
        consumer,
        "COUNT",
        count,
        "BLOCK",
        blockMs(minIdleMs),
        "STREAMS",
        ...streams,
        ...streams.map(() => ">"),
      ),
    );
  }

  async function read(): Promise<void> {
    for (let failures = 0; !stopping.signal.aborted;) {
      if (hand.free === 0) {
        await roomMade.promise;
        roomMade = Promise.withResolvers();
        continue;
      }
      try {
        await reader.connected(stopping.signal);
        if (stopping.signal.aborted) return;
        // COUNT applies to each stream.
        const answer = await next(Math.max(1, Math.floor(hand.free / streams.length)));
        failures = 0;
        journal.works();
        for (const { key, entries } of streamsOf(answer)) {
          for (const entry of entriesOf(entries)) take(key, entry, 1);
        }
      } catch (error) {
        if (stopping.signal.aborted) return;
        failures++;
        // A Redis that restarted empty has lost its groups.
        const isGone = replyWord(error) === "NOGROUP";
        if (isGone) await member.makeGroups().catch((again: unknown) => journal.failed(explained(again)));
        else journal.failed(explained(error));
        await sleep(pause(failures), undefined, { signal: stopping.signal }).catch(() => undefined);
      }
    }
  }

  async function refresh(): Promise<void> {
    for (const stream of streams) {
      const mine = hand.all().filter((held) => held.stream === stream);
      if (mine.length === 0) continue;
      const lost = await member.refresh(
        stream,
        mine.map(({ entry }) => entry),
      );
      for (const id of lost) hand.drop(`${stream} ${id}`);
    }
  }

  async function reclaim(): Promise<void> {
    for (const stream of streams) {
      if (hand.free === 0) return;
      for (const { entry, deliveries } of await member.reclaim(stream, hand.free))
        take(stream, entry, deliveries);
    }
  }

  /** Sends signs of life, takes over abandoned entries and removes finished ones. */
  async function look(): Promise<void> {
    let tidyAt = performance.now() + trimEverySeconds * 1000;
    const everyMs = Math.min(10_000, minIdleMs / 3);
    while (!ended.signal.aborted) {
      try {
        await refresh();
        if (!stopping.signal.aborted) await reclaim();
        if (!stopping.signal.aborted && trimEverySeconds > 0 && performance.now() >= tidyAt) {
          tidyAt = performance.now() + trimEverySeconds * 1000;
          for (const stream of streams) await member.tidy(stream);
        }
      } catch (error) {
        // The reader re-creates lost groups.
        if (!stopping.signal.aborted && replyWord(error) !== "NOGROUP") journal.failed(explained(error));
      }
      await sleep(everyMs, undefined, { signal: ended.signal }).catch(() => undefined);
    }
  }

  async function leave(unstarted: readonly Taken[]): Promise<void> {
    // Redis counted a delivery that no handler received; take it back.
    const counts = [
      ...unstarted.map((held) => [held, Math.max(0, held.deliveries - 1)] as const),
      ...hand.all().map((held) => [held, held.deliveries] as const),
    ];
    await Promise.allSettled(
      streams.map((stream) => {
        const mine = counts.filter(([held]) => held.stream === stream);
        return member.release(
          stream,
          mine.map(([{ entry }, count]) => [entry, count]),
        );
      }),
    );
  }

  await withDeadline(timeoutMs, () => member.makeGroups());
  const reading = read();
  const looking = look();

  async function end(): Promise<void> {
    stopping.abort();
    roomMade.resolve();
    const unstarted = hand.halt();
    reader.close();
    await reading;
    await withDeadline(options.stopTimeoutMs, () => hand.idle).catch(() => journal.abandoned(hand.size));
    ended.abort();
    await looking;
    await leave(unstarted);
  }

  return runningConsumption({ group, hand, journal, end });
}
