export { isRequestId, mintRequestId } from "@svc/context";
export type { RequestIdOptions } from "./options.ts";
export { propagationHeaders } from "./propagation-headers.ts";
export { requestId } from "./request-id.ts";
export { isTracestate, parseTraceparent } from "./trace-context.ts";
