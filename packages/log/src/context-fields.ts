import { currentTrace, type RequestContext } from "@svc/context";

const longestClaim = 128;

/**
 * Returns the fields that a context and the current trace add to a log record, for a logger that accepts objects.
 */
export function contextFields(context: RequestContext | undefined): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  if (context !== undefined && context.requestId !== "") fields["request_id"] = context.requestId;
  const trace = currentTrace(context);
  if (trace !== undefined) fields["trace_id"] = trace.traceId;
  if (context === undefined) return fields;
  if (context.tenantId !== undefined) fields["tenant_id"] = context.tenantId;
  if (context.tenantClaimed !== undefined)
    fields["tenant_claimed"] = context.tenantClaimed.slice(0, longestClaim);
  return fields;
}

/**
 * Returns the fields of `contextFields()` as JSON members, each preceded by a comma.
 *
 * @param quote returns a string as JSON, without secrets
 */
export function contextJson(context: RequestContext | undefined, quote: (text: string) => string): string {
  const id = context?.requestId ?? "";
  let json = id === "" ? "" : `,"request_id":${quote(id)}`;
  const trace = currentTrace(context);
  if (trace !== undefined) json += `,"trace_id":${quote(trace.traceId)}`;
  if (context === undefined) return json;
  if (context.tenantId !== undefined) json += `,"tenant_id":${quote(context.tenantId)}`;
  if (context.tenantClaimed !== undefined) {
    json += `,"tenant_claimed":${quote(context.tenantClaimed.slice(0, longestClaim))}`;
  }
  return json;
}
