export type { EventBusBench } from "./testing/bench.ts";
export { type EventBusCase, eventBusCases, type EventBusSuite } from "./testing/cases.ts";
