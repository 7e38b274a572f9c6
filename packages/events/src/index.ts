export type { BusMessage, Consumption, ConsumeOptions, DeliveryInfo, EventBus } from "./event-bus.ts";
