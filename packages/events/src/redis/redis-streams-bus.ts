import type { CheckResult, ReadinessCheck } from "@svc/context";
import { withDeadline } from "@svc/resilience";
import { closedBus } from "../bus/event-bus-error.ts";
import type { RunningConsumption } from "../bus/running.ts";
import { checkConsumption, checkMessages } from "../bus/messages.ts";
import type { BusMessage, EventBus } from "../event-bus.ts";
import { blockMs, startConsumption } from "./consumption.ts";
import { BROKER, explained } from "./errors.ts";
import { clientsOf, openLine } from "./line.ts";
import { type RedisStreamsOptions, resolveRedisStreamsOptions } from "./options.ts";
import { PUBLISH, runScript } from "./scripts.ts";

// The most messages in one script call, because other commands wait for it.
const CHUNK_MESSAGES = 500;
const CHUNK_CHARACTERS = 1024 * 1024;

/**
 * Creates an event bus on Redis Streams (EVT-7), Redis 6.2 or newer: a stream per topic, consumer groups, entries with
 * the fields `id`, `key` (omitted when null) and `body`. Connects on first use.
 *
 * Drops a message repeated within `dedupSeconds`, so publishing again after a failure is safe. Removes an entry only
 * after every group of the stream has acknowledged it.
 *
 * @throws ConfigurationError for unknown or invalid options
 * @throws EventBusError (publish, consume) `ERR_SVC_EVENT_BUS_UNAVAILABLE`, `ERR_SVC_EVENT_BUS_REFUSED`,
 *   `ERR_SVC_EVENT_BUS_MESSAGE`, `ERR_SVC_EVENT_BUS_CLOSED`; ConfigurationError (consume)
 */
export function createRedisStreamsBus(given: RedisStreamsOptions): EventBus {
  const options = resolveRedisStreamsOptions(given);
  const { timeoutMs, minIdleMs, dedupSeconds, maxLengthWithoutGroups, maxBodyBytes } = options;
  const { make, keyPrefix } = clientsOf(options.redis);
  const prefix = keyPrefix + options.prefix;
  const keyOf = (topic: string): string => prefix + topic;
  const connectMs = Math.min(timeoutMs, 5000);
  const commands = openLine(make, connectMs, Math.max(3000, 2 * timeoutMs));
  const consumptions = new Set<RunningConsumption>();
  let closed: Promise<void> | undefined;

  async function add(topic: string, messages: readonly BusMessage[], signal: AbortSignal): Promise<void> {
    const keys = [keyOf(topic), `${keyOf(topic)}:ids`];
    for (const chunk of chunksOf(messages)) {
      signal.throwIfAborted();
      const args = chunk.flatMap(({ id, key, body }) => [id, key === null ? "0" : `1${key}`, body]);
      const settings = [Math.ceil(dedupSeconds * 1000), maxLengthWithoutGroups];
      await commands.send((client) => runScript(client, PUBLISH, keys, [...settings, ...args]));
    }
  }

  async function publish(
    messages: readonly BusMessage[],
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    if (closed !== undefined) throw closedBus(BROKER);
    checkMessages(messages, maxBodyBytes);
    const byTopic = Map.groupBy(messages, ({ topic }) => topic);
    try {
      await withDeadline(
        timeoutMs,
        (until) => Promise.all([...byTopic].map(([topic, list]) => add(topic, list, until))),
        { signal, onTimeout: () => commands.renew() },
      );
    } catch (error) {
      signal?.throwIfAborted();
      throw explained(error);
    }
  }

  async function check(signal: AbortSignal): Promise<CheckResult> {
    if (closed !== undefined) return { healthy: false, detail: "closed" };
    const meta = {
      consumptions: consumptions.size,
      in_hand: [...consumptions].reduce((sum, { inHand }) => sum + inHand, 0),
    };
    try {
      await withDeadline(Math.min(timeoutMs, 1500), () => commands.send((client) => client.ping()), {
        signal,
      });
    } catch (error) {
      return { healthy: false, detail: explained(error).message, meta };
    }
    const stuck = [...consumptions].find(({ trouble }) => trouble !== undefined);
    if (stuck === undefined) return { healthy: true, detail: "connected", meta };
    return { healthy: false, detail: `group ${stuck.group}: ${stuck.trouble}`, meta };
  }

  async function end(): Promise<void> {
    await Promise.all([...consumptions].map((each) => each.stop()));
    commands.close();
  }

  const readiness: ReadinessCheck = { name: "event-bus", critical: false, check };
  return {
    name: "redis-streams",
    publish,
    async consume(asked) {
      checkConsumption(asked);
      if (closed !== undefined) throw closedBus(BROKER);
      const reader = openLine(make, connectMs, blockMs(minIdleMs) + Math.max(3000, timeoutMs));
      try {
        const consumption = await startConsumption(asked, { options, commands, reader, keyOf });
        consumptions.add(consumption);
        void consumption.stopped.then(() => consumptions.delete(consumption));
        if (isClosed()) await consumption.stop();
        return consumption;
      } catch (error) {
        reader.close();
        throw explained(error);
      }
    },
    readiness: () => readiness,
    close: () => (closed ??= end()),
  };

  // A function, because TypeScript would otherwise assume that the flag cannot change in between.
  function isClosed(): boolean {
    return closed !== undefined;
  }
}

function* chunksOf(messages: readonly BusMessage[]): Iterable<readonly BusMessage[]> {
  let chunk: BusMessage[] = [];
  let characters = 0;
  for (const message of messages) {
    if (
      chunk.length > 0 &&
      (chunk.length === CHUNK_MESSAGES || characters + message.body.length > CHUNK_CHARACTERS)
    ) {
      yield chunk;
      chunk = [];
      characters = 0;
    }
    chunk.push(message);
    characters += message.body.length;
  }
  if (chunk.length > 0) yield chunk;
}
