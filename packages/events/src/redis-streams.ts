export { EventBusError, type EventBusErrorCode } from "./bus/event-bus-error.ts";
export type { BusMessage, Consumption, ConsumeOptions, DeliveryInfo, EventBus } from "./event-bus.ts";
export type { RedisStreamsOptions } from "./redis/options.ts";
export { createRedisStreamsBus } from "./redis/redis-streams-bus.ts";
