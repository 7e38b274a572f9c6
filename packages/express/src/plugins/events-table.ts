import {
  boolean,
  ConfigurationError,
  defineOptions,
  integer,
  number,
  oneOf,
  optional,
  type ResolvedOptions,
  secret,
  string,
  withDefault,
} from "@svc/options";

const days = integer({ min: 0, max: 3650 });
const group = /^[\w.-]{1,100}$/;
const groupText = "1 to 100 letters, digits, ., _ or -";

/** `[plugin.events]`. */
export const eventsOptions = defineOptions(
  "[plugin.events]",
  {
    /** The bus that carries events to other services. Default: none. */
    bus: { key: "bus", kind: withDefault(oneOf("none", "redis", "nats"), "none") },
    /** The URL of the bus; usually a reference such as `${REDIS_URL}`. Required with a bus. */
    url: { key: "url", kind: secret(optional(string())) },
    /** The prefix of the event type in a topic (EVT-8). Default: empty. */
    topicPrefix: {
      key: "topic_prefix",
      kind: withDefault(
        string({
          allowEmpty: true,
          pattern: /^(?=.{0,100}$)(?:[\w-]+\.)*[\w-]*$/,
          expects:
            "words of letters, digits, _ and - with dots between them or at the end, at most 100 characters",
        }),
        "",
      ),
    },
    /** The consumer group, whose replicas share the events of the bus. Default: the name of the service. */
    consumerGroup: {
      key: "consumer_group",
      kind: optional(string({ pattern: group, expects: groupText })),
    },
    /** How many events of the bus are queued concurrently; with more than one, their order is lost. Default: 1. */
    consumeConcurrency: {
      key: "consume_concurrency",
      kind: withDefault(integer({ min: 1, max: 1000 }), 1),
    },
    /** The prefix of the keys in Redis; only with bus `redis`. Default: empty. */
    keyPrefix: { key: "key_prefix", kind: withDefault(string({ allowEmpty: true }), "") },
    /** The name of the JetStream stream; only with bus `nats`. Default: events. */
    stream: { key: "stream", kind: withDefault(string(), "events") },
    /** The largest event as JSON, in bytes. Default: 1,000,000. */
    maxEventBytes: {
      key: "max_event_bytes",
      kind: withDefault(integer({ min: 256, max: 64 * 2 ** 20 }), 1_000_000),
    },
    /** Whether events are stored in an outbox before they are sent. Default: true with a bus. */
    outbox: { key: "outbox", kind: optional(boolean()) },
    /** The table of the outbox, as name or `schema.name` (OUT-4). Default: svc_outbox. */
    outboxTable: { key: "outbox_table", kind: withDefault(string(), "svc_outbox") },
    /** How many days sent events are kept; 0: forever. Default: 7. */
    outboxRetentionDays: { key: "outbox_retention_days", kind: withDefault(days, 7) },
    /** How many events a relay claims at a time. Default: 100. */
    relayBatch: { key: "relay_batch", kind: withDefault(integer({ min: 1, max: 500 }), 100) },
    /** How often a relay polls the outbox, in seconds. Default: 1. */
    relayEverySeconds: { key: "relay_every", kind: withDefault(number({ min: 0.005, max: 600 }), 1) },
    /** How long a relay leases events, in seconds (OUT-5). Default: 60. */
    relayLeaseSeconds: { key: "relay_lease", kind: withDefault(number({ min: 2, max: 3600 }), 60) },
    /** The attempts to send an event before it is dead-lettered. Default: 20. */
    relayMaxAttempts: {
      key: "relay_max_attempts",
      kind: withDefault(integer({ min: 1, max: 1000 }), 20),
    },
    /** The table of processed messages, as name or `schema.name` (OUT-3). Default: svc_inbox. */
    inboxTable: { key: "inbox_table", kind: withDefault(string(), "svc_inbox") },
    /** How many days processed messages are kept; 0: forever. Default: 30. */
    inboxRetentionDays: { key: "inbox_retention_days", kind: withDefault(days, 30) },
  },
  ({ bus, url }) => {
    if (bus === "none" || url !== undefined) return [];
    const variable = bus === "redis" ? "${REDIS_URL}" : "${NATS_URL}";
    return [{ key: "url", message: `is required with bus = "${bus}", for example "${variable}"` }];
  },
);

/** The settings of [plugin.events]. */
export type EventsSettings = ResolvedOptions<(typeof eventsOptions)["keys"]>;

/** Whether events are stored in an outbox before they are sent. */
export function writesOutbox({ outbox, bus }: Pick<EventsSettings, "outbox" | "bus">): boolean {
  return outbox ?? bus !== "none";
}

/**
 * Returns the consumer group, whose replicas share the events of the bus.
 *
 * @throws ConfigurationError when the default, the name of the service, is not a valid group name
 */
export function groupOf({ consumerGroup }: EventsSettings, service: string): string {
  if (consumerGroup !== undefined) return consumerGroup;
  if (group.test(service)) return service;
  const message = `is required: the name of the service, ${JSON.stringify(service)}, is not ${groupText}`;
  throw new ConfigurationError("the service", [{ key: "plugin.events.consumer_group", message }]);
}

/**
 * Returns the source of the events of a service: its name.
 *
 * @throws ConfigurationError for a name that is not a valid event source
 */
export function sourceOf(service: string): string {
  if (/^[ -~]{1,100}$/.test(service)) return service;
  const message = `must be ASCII with the plugin events: it is the source of every event; it is ${JSON.stringify(service)}`;
  throw new ConfigurationError("the service", [{ key: "service.name", message }]);
}

/** Returns the keys of settings that have no effect with the configured bus. */
export function unusedKeys({ bus, url, keyPrefix, stream }: EventsSettings): readonly string[] {
  const unused: readonly (readonly [key: string, isUnused: boolean])[] = [
    ["url", bus === "none" && url !== undefined],
    ["key_prefix", bus !== "redis" && keyPrefix !== ""],
    ["stream", bus !== "nats" && stream !== "events"],
  ];
  return unused.flatMap(([key, isUnused]) => (isUnused ? [key] : []));
}
