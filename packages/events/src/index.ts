export { type BusConsumer, type BusConsumerOptions, createBusConsumer } from "./bus-consumer.ts";
export type { EventEnvelope, EventTrace, NewEvent } from "./envelope.ts";
export { EventError, type EventErrorCode } from "./errors.ts";
export type { BusMessage, Consumption, ConsumeOptions, DeliveryInfo, EventBus } from "./event-bus.ts";
export { type AnyEvent, createEvents, type Events, type PublishOptions } from "./events.ts";
export { createInbox, DEFAULT_INBOX, type Inbox, type InboxOptions, type Once } from "./inbox.ts";
export type { EventsEvent, EventsOptions, EventTypes, Subscriber, SubscribersOf } from "./options.ts";
export {
  createOutbox,
  type DeadEvent,
  DEFAULT_OUTBOX,
  type Outbox,
  type OutboxOptions,
  type OutboxStats,
} from "./outbox/outbox.ts";
export type { OutboxEntry } from "./outbox/sql.ts";
export type { Migration } from "./query.ts";
export { readEnvelope } from "./read-envelope.ts";
export type { RelayEvent, RelayOptions } from "./relay/options.ts";
export { createRelay, type Relay, type RelayPass } from "./relay/relay.ts";
