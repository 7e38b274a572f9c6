import type { Mutants } from "./mutant.ts";

/** Mutants of the rules on calls between services. */
export const calls: Mutants = {
  "HTTP-1": {
    file: "packages/http-client/src/request-headers.ts",
    find: '"x-request-id", "traceparent", "tracestate"',
    replace: '"traceparent", "tracestate"',
  },
  "HTTP-2": {
    file: "packages/http-client/src/request-headers.ts",
    find: 'if (name === "x-tenant-id") {',
    replace: 'if (name === "X-Tenant-ID") {',
  },
  "HTTP-3": {
    file: "packages/http-client/src/request-headers.ts",
    find: "forwardAuthorization && !hasAuthorization ?",
    replace: "!hasAuthorization ?",
  },
  "TRACE-9": {
    file: "packages/http-client/src/call.ts",
    find: 'span?.set({ "http.request.resend_count": sent - 1 });',
    replace: 'span?.set({ "http.request.resend_count": sent });',
  },
  "TRACE-10": {
    file: "packages/gateway/src/start-exchange.ts",
    find: '{ "jfast.gateway.prefix": prefix }',
    replace: "{}",
  },
  "PROF-7": {
    file: "packages/express/src/service-kind.ts",
    find: 'kind === "gateway" && !plugins',
    replace: 'kind === "api" && !plugins',
  },
  "GW-1": {
    file: "packages/gateway/src/request-headers.ts",
    find: 'return own["traceparent"] !== undefined;',
    replace: "return false;",
  },
  "GW-2": {
    file: "packages/gateway/src/request-headers.ts",
    find: 'return own["traceparent"] !== undefined;',
    replace: "return true;",
  },
  "TRACE-19": {
    file: "packages/http-client/src/request-headers.ts",
    find: "propagationHeaders(context, span?.trace);",
    replace: "propagationHeaders(context);",
  },
};
