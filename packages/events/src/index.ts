export { type BusConsumer, createBusConsumer } from "./bus-consumer.ts";
export type { EventEnvelope, EventTrace, NewEvent } from "./envelope.ts";
export { EventError, type EventErrorCode } from "./errors.ts";
export type { BusMessage, Consumption, ConsumeOptions, DeliveryInfo, EventBus } from "./event-bus.ts";
export { type AnyEvent, createEvents, type Events, type PublishOptions } from "./events.ts";
export { createInbox, type Inbox, type Once } from "./inbox.ts";
export type { BusConsumerOptions, EventsEvent, EventsOptions, RelayEvent, RelayOptions } from "./options.ts";
export { createOutbox, type DeadEvent, type Outbox, type OutboxStats } from "./outbox/outbox.ts";
export type { OutboxEntry } from "./outbox/sql.ts";
export { readEnvelope } from "./read-envelope.ts";
export { createRelay, type Relay, type RelayPass } from "./relay/relay.ts";
export type { EventTypes, Subscriber, SubscribersOf } from "./subscribers.ts";
export {
  DEFAULT_INBOX,
  DEFAULT_OUTBOX,
  type InboxOptions,
  type Migration,
  type OutboxOptions,
} from "./table-options.ts";
