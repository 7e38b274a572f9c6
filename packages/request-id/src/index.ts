export { isRequestId, isTracestate, mintRequestId, parseTraceparent } from "@svc/context";
export type { RequestIdOptions } from "./options.ts";
export { propagationHeaders } from "./propagation-headers.ts";
export { requestId } from "./request-id.ts";
