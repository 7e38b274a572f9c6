export type { EventEnvelope, EventTrace, NewEvent } from "./envelope.ts";
export { EventError, type EventErrorCode } from "./errors.ts";
export type { BusMessage, Consumption, ConsumeOptions, DeliveryInfo, EventBus } from "./event-bus.ts";
export { type AnyEvent, createEvents, type Events, type PublishOptions } from "./events.ts";
export type { EventsEvent, EventsOptions, EventTypes, Subscriber, SubscribersOf } from "./options.ts";
export type { Outbox, OutboxEntry } from "./outbox/outbox.ts";
export { readEnvelope } from "./read-envelope.ts";
