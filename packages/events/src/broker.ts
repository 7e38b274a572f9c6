export type { Broker, Delivery, Reader, Subscriber, Subscription } from "./bus/broker.ts";
export { type BrokerBusOptions, createBrokerBus } from "./bus/broker-bus.ts";
export { EventBusError, type EventBusErrorCode, refused, unavailable } from "./bus/event-bus-error.ts";
export type { BusMessage, Consumption, ConsumeOptions, DeliveryInfo, EventBus } from "./event-bus.ts";
