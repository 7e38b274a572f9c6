export {
  type ContextFields,
  contextOf,
  currentContext,
  enterContext,
  openContext,
  RequestContext,
  runWithContext,
} from "./request-context.ts";
export { routeTemplateOf } from "./route-template.ts";
export { onResponseEnd, type ResponseEndListener } from "./response-end.ts";
export type { CheckResult, Logger, Middleware, Principal, ReadinessCheck, TraceContext } from "./types.ts";
