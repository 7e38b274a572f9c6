import { openDedicated, runScript } from "@svc/redis";
import { busOf } from "../bus/broker-bus.ts";
import type { BusMessage, EventBus } from "../event-bus.ts";
import { BROKER, explained } from "./errors.ts";
import { type RedisStreamsOptions, redisStreamsOptions } from "./options.ts";
import { PUBLISH } from "./scripts.ts";
import { blockMs, createSubscription, type RedisDelivery } from "./subscription.ts";

// Maximum number of messages in one script call, because other commands wait for the script.
const CHUNK_MESSAGES = 500;
const CHUNK_CHARACTERS = 1024 * 1024;

/**
 * Creates an event bus on Redis Streams (EVT-7), Redis 7.0 or newer: a stream per topic, consumer groups, and entries
 * with the fields `id`, `key` (omitted when null) and `body`. Connects on first use.
 *
 * Drops a message repeated within `dedupSeconds`, so publishing again after a failure is safe. Removes an entry only
 * after every group on the stream has acknowledged it.
 *
 * @throws ConfigurationError for unknown or invalid options
 * @throws EventBusError (publish, consume) `ERR_SVC_EVENT_BUS_UNAVAILABLE`, `ERR_SVC_EVENT_BUS_REFUSED`,
 *   `ERR_SVC_EVENT_BUS_MESSAGE`, `ERR_SVC_EVENT_BUS_CLOSED`; ConfigurationError (consume)
 */
export function createRedisStreamsBus(given: RedisStreamsOptions): EventBus {
  const options = redisStreamsOptions.resolve(given);
  const { timeoutMs, minIdleMs, dedupSeconds, maxLengthWithoutGroups } = options;
  const connectTimeoutMs = Math.min(timeoutMs, 5000);
  const commands = openDedicated(options.redis, {
    connectTimeoutMs,
    silentMs: Math.max(3000, 2 * timeoutMs),
  });
  const keyOf = (topic: string): string => commands.keyPrefix + options.prefix + topic;

  async function add(topic: string, messages: readonly BusMessage[], signal: AbortSignal): Promise<void> {
    const keys = [keyOf(topic), `${keyOf(topic)}:ids`];
    for (const chunk of chunksOf(messages)) {
      signal.throwIfAborted();
      const args = chunk.flatMap(({ id, key, body }) => [id, key === null ? "0" : `1${key}`, body]);
      const settings = [Math.ceil(dedupSeconds * 1000), maxLengthWithoutGroups];
      await commands.send((client) => runScript(client, PUBLISH, keys, [...settings, ...args]));
    }
  }

  return busOf<RedisDelivery>(
    {
      name: "redis-streams",
      title: BROKER,
      async publish(messages, signal) {
        const byTopic = Map.groupBy(messages, ({ topic }) => topic);
        await Promise.all([...byTopic].map(([topic, list]) => add(topic, list, signal)));
      },
      unresponsive: () => commands.renew(),
      async ping() {
        await commands.send((client) => client.ping());
        return undefined;
      },
      subscribe(subscriber) {
        const silentMs = blockMs(minIdleMs) + Math.max(3000, timeoutMs);
        const reader = openDedicated(options.redis, { connectTimeoutMs, silentMs });
        return createSubscription(subscriber, { options, commands, reader, keyOf });
      },
      explain: explained,
      close: () => commands.close(),
    },
    options,
  );
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
