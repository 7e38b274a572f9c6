import type { Logger } from "@svc/context";
import { atMostEvery, backoff, withDeadline } from "@svc/resilience";
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { createHand, type Held } from "../bus/hand.ts";
import { say } from "../bus/say.ts";
import type { Consumption, ConsumeOptions } from "../event-bus.ts";
import { createAcks } from "./acks.ts";
import { type Entry, entriesOf, messageOf, streamsOf } from "./entries.ts";
import { explained, replyWord } from "./errors.ts";
import type { Line } from "./line.ts";
import type { ResolvedRedisStreams } from "./options.ts";
import { RECLAIM, REFRESH, RELEASE, runScript, type Script, TIDY } from "./scripts.ts";

/** What a consumption works with. */
export interface Surroundings {
  readonly options: ResolvedRedisStreams;
  /** For everything that does not block. */
  readonly commands: Line;
  /** For the one command that does. */
  readonly reader: Line;
  /** The stream of a topic. */
  readonly keyOf: (topic: string) => string;
}

/** A consumption, and what the readiness check wants to know of it. */
export interface RunningConsumption extends Consumption {
  readonly group: string;
  readonly inHand: number;
  /** Why it cannot read at this moment. */
  readonly trouble: string | undefined;
}

interface Taken extends Held {
  readonly stream: string;
  readonly entry: string;
}

const LONGEST_BLOCK_MS = 5000;

/** @throws EventBusError when the groups cannot be made within `timeoutMs` */
export async function startConsumption(
  given: ConsumeOptions,
  { options, commands, reader, keyOf }: Surroundings,
): Promise<RunningConsumption> {
  const { group, handler, concurrency = 1 } = given;
  const logger: Logger | undefined = given.logger ?? options.logger;
  const { timeoutMs, minIdleMs, trimEverySeconds } = options;
  // A name that tells a person where to look.
  const consumer = `${hostname().replaceAll(/[^\w.-]/g, "_")}-${process.pid}-${randomUUID().slice(0, 8)}`;
  const topics = new Map([...new Set(given.topics)].map((topic) => [keyOf(topic), topic] as const));
  const keys = [...topics.keys()];
  const cursors = new Map<string, string>();
  const stopping = new AbortController();
  const ended = new AbortController();
  const pause = backoff({ baseMs: 100, minMs: 100, maxMs: 5000 });
  const retry = backoff({ baseMs: options.retryBaseMs, maxMs: options.retryMaxMs, jitter: "none" });
  const acks = createAcks(
    (stream, ids) =>
      ask(() => commands.send((client) => client.xack(stream, group, ...ids))).then(() => undefined),
    stopping.signal,
  );
  let roomMade = Promise.withResolvers<void>();
  let trouble: string | undefined;

  const hand = createHand<Taken>({
    concurrency,
    capacity: Math.max(options.prefetch, concurrency),
    handler,
    pauseMs: (deliveries) => retry(deliveries),
    acknowledge: ({ stream, entry }) => acks.add(stream, entry),
    rejected: ({ message: { topic, id }, deliveries }, err, pauseMs) =>
      say(
        logger,
        "warn",
        { topic, group, event_id: id, deliveries: deliveries - 1, pause_ms: pauseMs, err },
        "a message was rejected and will be tried again",
      ),
    room: () => roomMade.resolve(),
  });

  const warn = atMostEvery(10_000, (_suppressed, why: string) =>
    say(logger, "warn", { group, broker: "redis", why }, "cannot read from the event bus; trying on"),
  );

  function failed(error: unknown): void {
    trouble = explained(error).message;
    if (!stopping.signal.aborted) warn(trouble);
  }

  function works(): void {
    if (trouble === undefined) return;
    trouble = undefined;
    say(logger, "info", { group, broker: "redis" }, "reading from the event bus again");
  }

  function ask<T>(send: () => Promise<T>): Promise<T> {
    return withDeadline(timeoutMs, send, { onTimeout: () => commands.renew() });
  }

  const run = (script: Script, key: string, ...args: readonly (string | number)[]): Promise<unknown> =>
    ask(() => commands.send((client) => runScript(client, script, [key], [group, consumer, ...args])));

  async function makeGroups(): Promise<void> {
    const from = options.startFrom === "oldest" ? "0" : "$";
    for (const key of keys) {
      try {
        await ask(() => commands.send((client) => client.xgroup("CREATE", key, group, from, "MKSTREAM")));
      } catch (error) {
        if (replyWord(error) !== "BUSYGROUP") throw error;
      }
    }
  }

  function take(key: string, entry: Entry, deliveries: number): void {
    const message = messageOf(topics.get(key) ?? key, entry);
    if (message !== undefined) {
      hand.add({ at: `${key} ${entry.id}`, message, deliveries, stream: key, entry: entry.id });
      return;
    }
    say(
      logger,
      "error",
      { group, stream: key, entry: entry.id },
      "an entry has no id or no body; it is left out",
    );
    void acks.add(key, entry.id);
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
        const count = Math.max(1, Math.floor(hand.free / keys.length));
        const block = Math.min(LONGEST_BLOCK_MS, minIdleMs);
        const answer = await reader.send((client) =>
          client.xreadgroup(
            "GROUP",
            group,
            consumer,
            "COUNT",
            count,
            "BLOCK",
            Math.ceil(block),
            "STREAMS",
            ...keys,
            ...keys.map(() => ">"),
          ),
        );
        failures = 0;
        works();
        for (const { key, entries } of streamsOf(answer)) {
          for (const entry of entriesOf(entries)) take(key, entry, 1);
        }
      } catch (error) {
        if (stopping.signal.aborted) return;
        failures++;
        // A Redis that was started empty has no groups any more.
        if (replyWord(error) === "NOGROUP") await makeGroups().catch(failed);
        else failed(error);
        await sleep(pause(failures), undefined, { signal: stopping.signal }).catch(() => undefined);
      }
    }
  }

  async function refresh(): Promise<void> {
    for (const key of keys) {
      const mine = hand.all().filter(({ stream }) => stream === key);
      if (mine.length === 0) continue;
      const lost = await run(REFRESH, key, ...mine.map(({ entry }) => entry));
      if (Array.isArray(lost)) for (const id of lost) hand.drop(`${key} ${String(id)}`);
    }
  }

  async function reclaim(): Promise<void> {
    for (const key of keys) {
      if (hand.free === 0) return;
      const cursor = cursors.get(key) ?? "0-0";
      const answer = await run(RECLAIM, key, Math.ceil(minIdleMs), cursor, hand.free);
      if (!Array.isArray(answer)) continue;
      cursors.set(key, String(answer[0]));
      for (const each of answer[1] as readonly (readonly unknown[])[]) {
        const [entry] = entriesOf([each]);
        if (entry !== undefined) take(key, entry, Number(each[2]));
      }
    }
  }

  async function tidy(): Promise<void> {
    const deadAfter = Math.ceil(4 * minIdleMs);
    for (const key of keys) {
      await ask(() => commands.send((client) => runScript(client, TIDY, [key], [group, deadAfter])));
    }
  }

  async function look(): Promise<void> {
    let tidyAt = performance.now() + trimEverySeconds * 1000;
    const everyMs = Math.min(10_000, minIdleMs / 3);
    while (!ended.signal.aborted) {
      try {
        await refresh();
        if (!stopping.signal.aborted) {
          await reclaim();
          if (trimEverySeconds > 0 && performance.now() >= tidyAt) {
            tidyAt = performance.now() + trimEverySeconds * 1000;
            await tidy();
          }
        }
      } catch (error) {
        // The reader says so, and makes the groups anew.
        if (replyWord(error) !== "NOGROUP") failed(error);
      }
      await sleep(everyMs, undefined, { signal: ended.signal }).catch(() => undefined);
    }
  }

  async function leave(unstarted: readonly Taken[]): Promise<void> {
    // They were counted as delivered and have not been.
    const left = [
      ...unstarted.map((each) => [each, each.deliveries - 1] as const),
      ...hand.all().map((each) => [each, each.deliveries] as const),
    ];
    await Promise.allSettled(
      keys.map((key) => {
        const counts = left.filter(([{ stream }]) => stream === key);
        const args = counts.flatMap(([{ entry }, count]) => [entry, Math.max(0, count)]);
        return run(RELEASE, key, Math.ceil(minIdleMs), ...args);
      }),
    );
  }

  await withDeadline(timeoutMs, makeGroups);
  const reading = read();
  const looking = look();
  let stopped: Promise<void> | undefined;
  const whenStopped = Promise.withResolvers<void>();

  async function end(): Promise<void> {
    stopping.abort();
    roomMade.resolve();
    reader.close();
    await reading;
    const unstarted = hand.halt();
    await withDeadline(options.stopTimeoutMs, () => hand.idle).catch(() =>
      say(logger, "warn", { group, running: hand.size }, "handlers still run; their messages are given back"),
    );
    ended.abort();
    await looking;
    await leave(unstarted);
    whenStopped.resolve();
  }

  const stop = (): Promise<void> => (stopped ??= end());
  return {
    group,
    get inHand() {
      return hand.size;
    },
    get trouble() {
      return trouble;
    },
    stop,
    stopped: whenStopped.promise,
    [Symbol.asyncDispose]: stop,
  };
}
