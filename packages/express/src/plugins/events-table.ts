import type { Table, TableFault } from "@svc/config";
import {
  boolean,
  ConfigurationError,
  integer,
  number,
  oneOf,
  optional,
  secret,
  string,
  withDefault,
} from "@svc/options";

/** `[plugin.events]`. */
export interface EventsSettings {
  /** What carries events to other services. Default: none. */
  readonly bus: "none" | "redis" | "nats";
  /** Where it is; usually a reference such as `${REDIS_URL}`. Required with a bus. */
  readonly url: string | undefined;
  /** What stands in front of the type in a topic (EVT-8). Default: empty. */
  readonly topicPrefix: string;
  /** Whose replicas share the events of the bus. Default: the name of the service. */
  readonly consumerGroup: string | undefined;
  /** How many events of the bus are queued at a time; more than one gives up their order. Default: 1. */
  readonly consumeConcurrency: number;
  /** What the keys of Redis begin with; only with bus `redis`. Default: empty. */
  readonly keyPrefix: string;
  /** The stream of JetStream; only with bus `nats`. Default: events. */
  readonly stream: string;
  /** How long an event may be as JSON, in bytes. Default: 1,000,000. */
  readonly maxEventBytes: number;
  /** Whether events are written down before they are sent. Default: with a bus. */
  readonly outbox: boolean | undefined;
  /** Where they are written, by name or `schema.name` (OUT-4). Default: svc_outbox. */
  readonly outboxTable: string;
  /** For how many days events are kept that were sent; 0: for ever. Default: 7. */
  readonly outboxRetentionDays: number;
  /** How many events a relay takes at a time. Default: 100. */
  readonly relayBatch: number;
  /** How often a relay looks, in seconds. Default: 1. */
  readonly relayEverySeconds: number;
  /** For how long a relay holds events, in seconds (OUT-5). Default: 60. */
  readonly relayLeaseSeconds: number;
  /** How often an event is tried before it is dead. Default: 20. */
  readonly relayMaxAttempts: number;
  /** Which messages were done, by name or `schema.name` (OUT-3). Default: svc_inbox. */
  readonly inboxTable: string;
  /** For how many days that is remembered; 0: for ever. Default: 30. */
  readonly inboxRetentionDays: number;
}

const days = integer({ min: 0, max: 3650 });
const group = /^[\w.-]{1,100}$/;
const groupText = "1 to 100 letters, digits, ., _ or -";

export const eventsTable: Table<EventsSettings> = {
  keys: {
    bus: { key: "bus", kind: withDefault(oneOf("none", "redis", "nats"), "none") },
    url: { key: "url", kind: secret(optional(string())) },
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
    consumerGroup: {
      key: "consumer_group",
      kind: optional(string({ pattern: group, expects: groupText })),
    },
    consumeConcurrency: {
      key: "consume_concurrency",
      kind: withDefault(integer({ min: 1, max: 1000 }), 1),
    },
    keyPrefix: { key: "key_prefix", kind: withDefault(string({ allowEmpty: true }), "") },
    stream: { key: "stream", kind: withDefault(string(), "events") },
    maxEventBytes: {
      key: "max_event_bytes",
      kind: withDefault(integer({ min: 256, max: 64 * 2 ** 20 }), 1_000_000),
    },
    outbox: { key: "outbox", kind: optional(boolean()) },
    outboxTable: { key: "outbox_table", kind: withDefault(string(), "svc_outbox") },
    outboxRetentionDays: { key: "outbox_retention_days", kind: withDefault(days, 7) },
    relayBatch: { key: "relay_batch", kind: withDefault(integer({ min: 1, max: 500 }), 100) },
    relayEverySeconds: { key: "relay_every", kind: withDefault(number({ min: 0.005, max: 600 }), 1) },
    relayLeaseSeconds: { key: "relay_lease", kind: withDefault(number({ min: 2, max: 3600 }), 60) },
    relayMaxAttempts: {
      key: "relay_max_attempts",
      kind: withDefault(integer({ min: 1, max: 1000 }), 20),
    },
    inboxTable: { key: "inbox_table", kind: withDefault(string(), "svc_inbox") },
    inboxRetentionDays: { key: "inbox_retention_days", kind: withDefault(days, 30) },
  },
  check({ bus, url }): readonly TableFault[] {
    if (bus === "none" || url !== undefined) return [];
    const variable = bus === "redis" ? "${REDIS_URL}" : "${NATS_URL}";
    return [{ key: "url", message: `is required with bus = "${bus}", for example "${variable}"` }];
  },
};

/** Whether events are written down before they are sent. */
export function writesOutbox({ outbox, bus }: Pick<EventsSettings, "outbox" | "bus">): boolean {
  return outbox ?? bus !== "none";
}

/**
 * Whose replicas share the events of the bus.
 *
 * @throws ConfigurationError when that is the name of the service, and no bus takes it
 */
export function groupOf({ consumerGroup }: EventsSettings, service: string): string {
  if (consumerGroup !== undefined) return consumerGroup;
  if (group.test(service)) return service;
  const message = `is required: the name of the service, ${JSON.stringify(service)}, is not ${groupText}`;
  throw new ConfigurationError("the service", [{ key: "plugin.events.consumer_group", message }]);
}

/**
 * Where the events of a service come from: its name.
 *
 * @throws ConfigurationError for one that other services could not read
 */
export function sourceOf(service: string): string {
  if (/^[ -~]{1,100}$/.test(service)) return service;
  const message = `must be ASCII with the plugin events: it is the source of every event; it is ${JSON.stringify(service)}`;
  throw new ConfigurationError("the service", [{ key: "service.name", message }]);
}

/** Settings that are there and mean nothing, by their keys. */
export function unusedKeys({ bus, url, keyPrefix, stream }: EventsSettings): readonly string[] {
  const unused: readonly (readonly [key: string, isUnused: boolean])[] = [
    ["url", bus === "none" && url !== undefined],
    ["key_prefix", bus !== "redis" && keyPrefix !== ""],
    ["stream", bus !== "nats" && stream !== "events"],
  ];
  return unused.flatMap(([key, isUnused]) => (isUnused ? [key] : []));
}
