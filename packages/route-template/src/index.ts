export { routeTemplateOf } from "./route-template.ts";
export type { Guard } from "@svc/context";
export { type Route, routesOf } from "./routes-of.ts";
