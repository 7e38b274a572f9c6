import type { ConsumerMessages, JsMsg } from "@nats-io/jetstream";
import { backoff, withDeadline } from "@svc/resilience";
import { setTimeout as sleep } from "node:timers/promises";
import { createHand, type Held } from "../bus/hand.ts";
import { createJournal, type RunningConsumption, runningConsumption } from "../bus/running.ts";
import type { BusMessage, ConsumeOptions } from "../event-bus.ts";
import { type BoundConsumer, durableName, ensureConsumer } from "./consumer.ts";
import { explained } from "./errors.ts";
import { messageOf } from "./headers.ts";
import type { Link } from "./link.ts";
import type { ResolvedNatsJetStream } from "./options.ts";
import { ensureStream } from "./stream.ts";

interface Taken extends Held {
  /** The latest delivery; an older one can no longer be acknowledged. */
  from: JsMsg;
}

// How long one fetch request lasts, and how often the server sends a heartbeat meanwhile.
const FETCH_MS = 15_000;
const HEARTBEAT_MS = 2_000;
// An acknowledgement can be lost with its connection; this many handled messages are remembered and not handled twice.
const REMEMBERED = 1000;

/** @throws EventBusError when the stream and consumers cannot be created within `timeoutMs` */
export async function startConsumption(
  given: ConsumeOptions,
  { options, link }: { readonly options: ResolvedNatsJetStream; readonly link: Link },
): Promise<RunningConsumption> {
  const { group, handler, concurrency = 1 } = given;
  const topics = [...new Set(given.topics)];
  const journal = createJournal(given.logger ?? options.logger, "nats", group);
  const most = Math.max(options.prefetch, concurrency);
  // Give every topic a share of several messages, so that not each message costs a request.
  const share = Math.max(Math.min(8, most), Math.floor(most / topics.length));
  const stopping = new AbortController();
  const ended = new AbortController();
  const pause = backoff({ baseMs: 100, minMs: 100, maxMs: 5000 });
  const retry = backoff({ baseMs: options.retryBaseMs, maxMs: options.retryMaxMs, jitter: "none" });
  const requests = new Set<ConsumerMessages>();
  const done = new Set<string>();
  const madeAt = new Map<string, string>();
  // Counts events after which the server may have lost our requests and consumers.
  let forgotten = 0;
  let roomMade = Promise.withResolvers<void>();
  let signEveryMs = options.ackWaitMs / 3;

  const hand = createHand<Taken>({
    concurrency,
    capacity: share * topics.length,
    handler,
    pauseMs: retry,
    acknowledge(held) {
      remember(held.at);
      quietly(() => held.from.ack());
    },
    rejected: (held, error, pauseMs) => journal.rejected(held, error, pauseMs),
    room() {
      roomMade.resolve();
      roomMade = Promise.withResolvers();
    },
  });

  function remember(at: string): void {
    done.add(at);
    const [oldest] = done;
    if (done.size > REMEMBERED && oldest !== undefined) done.delete(oldest);
  }

  async function bind(topic: string): Promise<BoundConsumer> {
    const jetStream = await link.now();
    await ensureStream(jetStream, options, [topic]);
    const bound = await ensureConsumer(jetStream, options, group, topic, madeAt.get(topic));
    if (!madeAt.has(topic)) madeAt.set(topic, bound.madeAt);
    signEveryMs = Math.min(signEveryMs, bound.ackWaitMs / 3);
    return bound;
  }

  function take(topic: string, from: JsMsg): void {
    if (stopping.signal.aborted) return quietly(() => from.nak());
    // A re-created stream counts from 1 again; the timestamp tells its messages apart from the old ones.
    const at = `${topic} ${from.seq} ${from.info.timestampNanos}`;
    const held = hand.get(at);
    if (held !== undefined) {
      held.from = from;
      return;
    }
    if (done.has(at)) return quietly(() => from.ack());
    const message: BusMessage | undefined = messageOf(topic, from);
    if (message === undefined) {
      journal.unreadable({ topic, sequence: from.seq });
      return quietly(() => from.ack());
    }
    hand.add({ at, message, deliveries: from.info.deliveryCount, from });
  }

  const inHandOf = (topic: string): number =>
    hand.all().reduce((sum, { message }) => sum + Number(message.topic === topic), 0);

  async function read(topic: string, first: BoundConsumer): Promise<void> {
    let bound: BoundConsumer | undefined = first;
    let known = forgotten;
    for (let failures = 0; !stopping.signal.aborted;) {
      const free = share - inHandOf(topic);
      // Wait until half the share is free: a request for each message would cost a round trip each.
      if (free < share / 2) {
        await roomMade.promise;
        continue;
      }
      try {
        await link.connected(stopping.signal);
        if (stopping.signal.aborted) return;
        if (bound === undefined || known !== forgotten) {
          known = forgotten;
          bound = await withDeadline(options.timeoutMs, () => bind(topic));
          journal.works();
        }
        await receive(topic, bound, free);
        failures = 0;
      } catch (error) {
        if (stopping.signal.aborted) return;
        bound = undefined;
        journal.failed(explained(error));
        failures++;
        await sleep(pause(failures), undefined, { signal: stopping.signal }).catch(() => undefined);
      }
    }
  }

  async function receive(topic: string, { consumer }: BoundConsumer, free: number): Promise<void> {
    const request = await consumer.fetch({
      max_messages: free,
      expires: FETCH_MS,
      idle_heartbeat: HEARTBEAT_MS,
    });
    requests.add(request);
    if (stopping.signal.aborted) request.stop();
    try {
      for await (const message of request) take(topic, message);
    } finally {
      requests.delete(request);
    }
  }

  /** Tells the server regularly that all held messages are in progress. */
  async function sign(): Promise<void> {
    while (!ended.signal.aborted) {
      await sleep(signEveryMs, undefined, { signal: ended.signal }).catch(() => undefined);
      if (ended.signal.aborted) return;
      for (const { from } of hand.all()) quietly(() => from.working());
    }
  }

  const forget = link.onForgotten(() => {
    forgotten++;
    for (const each of requests) each.stop();
  });

  const bound = await withDeadline(options.timeoutMs, async () => {
    await ensureStream(await link.now(), options, topics);
    return Promise.all(topics.map(async (topic) => [topic, await bind(topic)] as const));
  }).catch((error: unknown) => {
    forget();
    throw error;
  });
  const reading = Promise.all(bound.map(([topic, first]) => read(topic, first)));
  const signing = sign();

  /**
   * Returns messages to the server. While a fetch request of an ended subscription is still open, the server may lose
   * track of the first returned message until its ack wait ends; querying the consumer makes it drop such requests.
   */
  async function giveBack(list: readonly Taken[]): Promise<void> {
    const concerned = [...new Set(list.map(({ message: { topic } }) => topic))];
    if (list.length === 0) return;
    await inAMoment(async () => {
      const { manager } = await link.now();
      await Promise.all(
        concerned.map((topic) => manager.consumers.info(options.stream, durableName(group, topic))),
      );
    });
    for (const { from } of list) quietly(() => from.nak());
  }

  /** Runs a cleanup step for at most one second and ignores its failure. */
  async function inAMoment(run: () => Promise<unknown>): Promise<void> {
    await withDeadline(Math.min(options.timeoutMs, 1000), run).catch(() => undefined);
  }

  async function end(): Promise<void> {
    stopping.abort();
    forget();
    roomMade.resolve();
    for (const each of requests) each.stop();
    await giveBack(hand.halt());
    await reading;
    await withDeadline(options.stopTimeoutMs, () => hand.idle).catch(() => journal.abandoned(hand.size));
    ended.abort();
    await signing;
    await giveBack(hand.all());
    // An acknowledgement counts only after the server has read it.
    await inAMoment(async () => (await link.now()).connection.flush());
  }

  return runningConsumption({ group, hand, journal, end });
}

/** Ignores a closed connection: the server redelivers after its timeout. */
function quietly(tell: () => void): void {
  try {
    tell();
  } catch {
    // The server delivers the message again.
  }
}
