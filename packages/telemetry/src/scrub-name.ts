import type { SpanAttributes } from "@svc/context";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { cutText } from "./attributes.ts";

/** Attributes with strings from users, which a name may repeat. */
const RAW_TEXTS = [
  "url.path",
  "url.full",
  "url.query",
  "http.url",
  "http.target",
  "db.query.text",
  "db.statement",
];
const INSTRUMENTATION = /\binstrumentation\b/;

/**
 * Returns the name of a span that another package created. Rebuilds the name from the attributes for an HTTP or database
 * span, and if the name repeats a raw path or a statement (TRACE-15).
 *
 * @param attributes the recorded attributes
 */
export function scrubbedName(span: ReadableSpan, attributes: SpanAttributes, hasStatement: boolean): string {
  const { name, instrumentationScope: scope } = span;
  const isRaw = repeatsText(span);
  if (!isRaw && !INSTRUMENTATION.test(scope.name)) return cutText(name);
  const {
    "http.request.method": method,
    "http.route": route,
    "db.system": system,
    "db.operation": operation,
    "db.sql.table": table,
  } = attributes;
  if (method !== undefined) return route === undefined ? String(method) : cutText(`${method} ${route}`);
  if (system !== undefined && (isRaw || hasStatement)) {
    if (operation === undefined) return String(system);
    return table === undefined ? String(operation) : cutText(`${operation} ${table}`);
  }
  return cutText(isRaw ? scope.name : name);
}

function repeatsText({ name, attributes }: ReadableSpan): boolean {
  return RAW_TEXTS.some((each) => {
    const text = attributes[each];
    return typeof text === "string" && text !== "" && name.includes(text);
  });
}
