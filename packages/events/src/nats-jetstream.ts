export { EventBusError, type EventBusErrorCode } from "./bus/event-bus-error.ts";
export type { BusMessage, Consumption, ConsumeOptions, DeliveryInfo, EventBus } from "./event-bus.ts";
export { createNatsJetStreamBus } from "./nats/nats-jetstream-bus.ts";
export type { NatsConnectOptions, NatsJetStreamOptions } from "./nats/options.ts";
