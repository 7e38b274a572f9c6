export {
  type ContextFields,
  contextOf,
  currentContext,
  enterContext,
  openContext,
  RequestContext,
  runWithContext,
  type TraceReader,
} from "./request-context.ts";
export { activeSpanTrace, hasOpenTelemetry } from "./active-span.ts";
export { currentTrace } from "./current-trace.ts";
export { setRouteTemplate, statedRouteTemplate } from "./stated-route-template.ts";
export { describeGuard, type Guard, guardOf } from "./guard.ts";
export { isPlainText, isTenantId, TENANT_ID_EXPECTED } from "./identity-texts.ts";
export { isRequestId, mintRequestId } from "./request-ids.ts";
export { pathOf, pathOfTarget, routedPathOf } from "./request-path.ts";
export { markAsPassingOn, setCheckedHeader, storedHeaders, type StoredHeaders } from "./response-headers.ts";
export { onResponseEnd, type ResponseEndListener } from "./response-end.ts";
export { isOfThisOrigin } from "./same-origin.ts";
export { isSecretName, secretNamePatterns } from "./secret-names.ts";
export { inSpan, type OpenSpan, type SpanAttributes, type SpanHook, type SpanKind } from "./span.ts";
export { isSampled, isTracestate, parseTraceparent } from "./trace-context.ts";
export { deferTraceHeaders } from "./trace-headers.ts";
export type { CheckResult, Logger, Middleware, Principal, ReadinessCheck, TraceContext } from "./types.ts";
export type { RevocableToken, Rotation, RotationResult, TokenStore } from "./token-store.ts";
