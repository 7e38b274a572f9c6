import {
  ConfigurationError,
  defineOptions,
  fault,
  kinds as k,
  namesOf,
  pickOptions,
  type ResolvedOptions,
  withNames,
} from "@svc/options";
import { natsJetStreamOptions } from "./nats/options.ts";
import { busConsumerOptions, eventsOptions, relayOptions } from "./options.ts";
import { redisStreamsOptions } from "./redis/options.ts";

const days = k.integer({ min: 0, max: 3650 });
const { group, concurrency } = busConsumerOptions.keys;

/**
 * The options of `[plugin.events]`. The factories check table names, because checking them here would load `@svc/sql`.
 */
export const pluginOptions = defineOptions("[plugin.events]", {
  /** The bus that carries events to other services. Default: none. */
  bus: { key: "bus", kind: k.withDefault(k.oneOf("none", "redis", "nats"), "none") },
  /** The bus's URL, usually a reference such as `${REDIS_URL}`. Required with a bus. */
  url: { key: "url", kind: k.secret(k.optional(k.string())) },
  ...pickOptions(eventsOptions, "topicPrefix"),
  /** The consumer group, whose replicas share the bus's events. Default: the service's name. */
  consumerGroup: { ...group, kind: k.optional(group.kind) },
  /** How many events from the bus are queued concurrently; with more than one, their order is lost. Default: 1. */
  consumeConcurrency: concurrency,
  /** The prefix for Redis keys; only with bus `redis`. Default: empty. */
  keyPrefix: { ...redisStreamsOptions.keys.prefix, kind: k.withDefault(k.string({ allowEmpty: true }), "") },
  /** The name of the JetStream stream; only with bus `nats`. Default: events. */
  stream: { ...natsJetStreamOptions.keys.stream, kind: k.withDefault(k.string(), "events") },
  ...pickOptions(eventsOptions, "maxEventBytes"),
  /** Whether events are stored in an outbox before they are sent. Default: true with a bus. */
  outbox: { key: "outbox", kind: k.optional(k.boolean()) },
  /** The outbox table, as name or `schema.name` (OUT-4). Default: svc_outbox. */
  outboxTable: { key: "outbox_table", kind: k.withDefault(k.string(), "svc_outbox") },
  /** How many days sent events are kept; 0 keeps them forever. Default: 7. */
  outboxRetentionDays: { ...relayOptions.keys.purgeAfterDays, kind: k.withDefault(days, 7) },
  /** How many events a relay claims at a time. Default: 100. */
  relayBatch: relayOptions.keys.batch,
  /** How often a relay polls the outbox. Default: 1 second. */
  relayEveryMs: relayOptions.keys.everyMs,
  /** How many seconds a relay leases events (OUT-5). Default: 60. */
  relayLeaseSeconds: relayOptions.keys.leaseSeconds,
  /** How many attempts to send an event are made before it is dead. Default: 20. */
  relayMaxAttempts: relayOptions.keys.maxAttempts,
  /** The table that records processed messages, as name or `schema.name` (OUT-3). Default: svc_inbox. */
  inboxTable: { key: "inbox_table", kind: k.withDefault(k.string(), "svc_inbox") },
  /** How many days processed messages are recorded; 0 keeps the records forever. Default: 30. */
  inboxRetentionDays: { key: "inbox_retention_days", kind: k.withDefault(days, 30) },
}).withCheck(({ bus, url }) => {
  if (bus === "none" || url !== undefined) return [];
  const variable = bus === "redis" ? "${REDIS_URL}" : "${NATS_URL}";
  return [fault("url", `is required with bus = "${bus}", for example "${variable}"`)];
});

/** The settings of [plugin.events]. */
export type EventsSettings = ResolvedOptions<(typeof pluginOptions)["keys"]>;

/**
 * Renames settings to a factory's option names. The factory's faults still name the keys in the file.
 *
 * @param names maps each option to its setting
 */
export function settingsAs<
  S extends EventsSettings,
  const N extends Readonly<Record<string, keyof EventsSettings>>,
>(settings: S, names: N): { readonly [K in keyof N]: S[N[K]] } {
  const { subject, of } = namesOf(settings, pluginOptions.subject);
  const values = Object.fromEntries(
    Object.entries(names).map(([option, setting]) => [option, settings[setting]]),
  );
  const configured = (option: string): string => (names[option] === undefined ? option : of(names[option]));
  return withNames(values, { subject, of: configured }) as { readonly [K in keyof N]: S[N[K]] };
}

/** Returns whether events are stored in an outbox before they are sent. */
export function writesOutbox({ outbox, bus }: Pick<EventsSettings, "outbox" | "bus">): boolean {
  return outbox ?? bus !== "none";
}

/**
 * Returns the consumer group, whose replicas share the bus's events.
 *
 * @throws ConfigurationError when the service's name, the default, is not a valid group name
 */
export function groupOf({ consumerGroup }: EventsSettings, service: string): string {
  if (consumerGroup !== undefined) return consumerGroup;
  if (group.kind.accepts(service)) return service;
  const message = `is required, because the name of the service, ${JSON.stringify(service)}, is not ${group.kind.expects}`;
  throw new ConfigurationError("the service", [fault("plugin.events.consumer_group", message)]);
}

/**
 * Returns the source of a service's events: its name.
 *
 * @throws ConfigurationError for a name that is not a valid event source
 */
export function sourceOf(service: string): string {
  if (eventsOptions.keys.source.kind.accepts(service)) return service;
  const message = `must be ASCII, because the plugin events uses the name as the source of every event; it is ${JSON.stringify(service)}`;
  throw new ConfigurationError("the service", [fault("service.name", message)]);
}

/** Returns the keys of settings without effect with the configured bus. */
export function unusedKeys({ bus, url, keyPrefix, stream }: EventsSettings): readonly string[] {
  const unused: readonly (readonly [key: string, isUnused: boolean])[] = [
    ["url", bus === "none" && url !== undefined],
    ["key_prefix", bus !== "redis" && keyPrefix !== ""],
    ["stream", bus !== "nats" && stream !== "events"],
  ];
  return unused.flatMap(([key, isUnused]) => (isUnused ? [key] : []));
}
