export { routeTemplateOf } from "./route-template.ts";
export { type Guard, type Route, routesOf } from "./routes-of.ts";
