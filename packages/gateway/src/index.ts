export { gateway, type Gateway } from "./gateway.ts";
export type { GatewayOptions, RouteOptions } from "./options.ts";
