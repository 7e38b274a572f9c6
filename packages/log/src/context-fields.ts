import type { RequestContext } from "@svc/context";
import { quote } from "./quote.ts";

const longestClaim = 128;

/** Returns the fields that a context adds to a log record, for a logger that accepts objects. */
export function contextFields(context: RequestContext | undefined): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  if (context === undefined) return fields;
  if (context.requestId !== "") fields["request_id"] = context.requestId;
  if (context.trace !== undefined) fields["trace_id"] = context.trace.traceId;
  if (context.tenantId !== undefined) fields["tenant_id"] = context.tenantId;
  if (context.tenantClaimed !== undefined)
    fields["tenant_claimed"] = context.tenantClaimed.slice(0, longestClaim);
  return fields;
}

/**
 * Returns the fields of `contextFields()` as JSON members, each preceded by a comma. Redacts values that a client can
 * choose freely.
 */
export function contextJson(context: RequestContext | undefined, redact: (text: string) => string): string {
  if (context === undefined) return "";
  let json = context.requestId === "" ? "" : `,"request_id":${quote(context.requestId)}`;
  if (context.trace !== undefined) json += `,"trace_id":${quote(context.trace.traceId)}`;
  if (context.tenantId !== undefined) json += `,"tenant_id":${quote(context.tenantId)}`;
  if (context.tenantClaimed !== undefined) {
    json += `,"tenant_claimed":${quote(redact(context.tenantClaimed.slice(0, longestClaim)))}`;
  }
  return json;
}
