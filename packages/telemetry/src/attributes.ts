import type { SpanAttributes } from "@svc/context";

/** Longest text of an attribute, in characters (TRACE-26). */
export const MAX_TEXT = 256;

/** The names of all attributes that a span may have. Other names are dropped, so that no user data is exported (TRACE-15). */
const names: ReadonlySet<string> = new Set([
  "http.route",
  "http.request.method",
  "http.response.status_code",
  "http.request.resend_count",
  "jfast.tenant_id",
  "jfast.request_id",
  "jfast.upstream",
  "jfast.gateway.prefix",
  "server.address",
  "error.type",
  "db.system",
  "db.name",
  "db.operation",
  "db.sql.table",
  "db.rows_affected",
  "db.statement",
  "messaging.system",
  "messaging.destination.name",
  "messaging.message.id",
  "svc.job.attempts",
  "rag.document_id",
  "rag.chunks",
  "rag.embedded",
  "rag.reused",
  "rag.store",
  "rag.limit",
  "rag.hybrid",
  "rag.filtered",
  "rag.hits",
  "llm.model",
  "llm.purpose",
  "llm.usage.input_tokens",
  "llm.usage.output_tokens",
  "llm.usd",
  "llm.ms",
  "llm.retries",
  "llm.finish_reason",
  "storage.disk",
  "storage.driver",
  "storage.bytes",
]);

/** Truncates a string to `max` characters. Drops half of a split surrogate pair, because it is not valid in OTLP. */
export function cutText(text: string, max: number = MAX_TEXT): string {
  if (text.length <= max) return text.toWellFormed();
  const last = text.charCodeAt(max - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? max - 1 : max).toWellFormed();
}

/** Returns whether all attributes of a span may be recorded as they are. */
export function areAllowed(attributes: Readonly<Record<string, unknown>>): attributes is SpanAttributes {
  for (const name in attributes) {
    const value = attributes[name];
    if (!names.has(name)) return false;
    if (typeof value === "string") {
      if (value.length > MAX_TEXT || !value.isWellFormed()) return false;
    } else if (typeof value !== "boolean" && !Number.isFinite(value)) return false;
  }
  return true;
}

/**
 * Returns the attributes that may be recorded: known names with a string, a finite number or a boolean, strings truncated to
 * 256 characters (TRACE-15, TRACE-26).
 *
 * @param onDropped receives the number of attributes that were dropped
 */
export function allowedAttributes(
  attributes: Readonly<Record<string, unknown>>,
  onDropped: (count: number) => void,
): SpanAttributes {
  if (areAllowed(attributes)) return attributes;
  const allowed: Record<string, string | number | boolean> = {};
  let dropped = 0;
  for (const name in attributes) {
    const value = attributes[name];
    if (!names.has(name)) dropped += 1;
    else if (typeof value === "string") allowed[name] = cutText(value);
    else if (typeof value === "boolean" || Number.isFinite(value)) allowed[name] = value as number | boolean;
    else dropped += 1;
  }
  if (dropped > 0) onDropped(dropped);
  return allowed;
}
