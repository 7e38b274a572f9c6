export {
  contextOf,
  currentContext,
  enterContext,
  openContext,
  RequestContext,
  runWithContext,
} from "./request-context.ts";
export { onResponseEnd, type ResponseEndListener } from "./response-end.ts";
export type { CheckResult, Logger, Middleware, Principal, ReadinessCheck, TraceContext } from "./types.ts";
