import type { Logger } from "@svc/context";
import {
  defineOptions,
  integer,
  listOf,
  objectWith,
  optional,
  type OptionsOf,
  string,
  withDefault,
} from "@svc/options";
import type { EventBus } from "./event-bus.ts";
import type { Events } from "./events.ts";

export const busConsumerOptions = defineOptions("createBusConsumer()", {
  /** The bus that delivers the events. Required. */
  bus: { kind: objectWith<EventBus>("an event bus", "publish", "consume") },
  /** The result of `createEvents()`, whose subscribers handle the events. Required. */
  events: { kind: objectWith<Pick<Events, "receive" | "topics">>("what createEvents() answers", "receive") },
  /** The consumer group, normally the service's name: its replicas share the events of the group. Required. */
  group: {
    key: "consumer_group",
    kind: string({ pattern: /^[\w.-]{1,100}$/, expects: "1 to 100 letters, digits, ., _ or -" }),
  },
  /** The topics to consume, full names with the publisher's prefix. Default: those of the types that have subscribers. */
  topics: { kind: optional(listOf(string())) },
  /** Events queued concurrently, 1 to 1,000; values above 1 give up the order. Default: 1. */
  concurrency: { key: "consume_concurrency", kind: withDefault(integer({ min: 1, max: 1000 }), 1) },
  /**
   * Milliseconds before the first retry of a failed subscription; doubles up to 30 times this value. Default: 1,000.
   */
  retryMs: { kind: withDefault(integer({ min: 1, max: 60_000 }), 1000) },
  /** Receives a warning while the subscription to the bus fails. Default: none. */
  logger: { kind: optional(objectWith<Logger>("a logger", "info", "warn", "error")) },
});

/** Options of {@link createBusConsumer}. */
export type BusConsumerOptions = OptionsOf<typeof busConsumerOptions>;
