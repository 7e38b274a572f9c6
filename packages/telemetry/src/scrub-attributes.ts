import type { SpanAttributes } from "@svc/context";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { allowedAttributes } from "./attributes.ts";
import { SERVER } from "./span-codes.ts";
import type { SpanOfStatement } from "./sql/span-of-statement.ts";

/** The attributes of another package's span that may be recorded. */
export interface ScrubbedAttributes {
  readonly attributes: SpanAttributes;
  /** Whether the span had the text of a statement. */
  readonly hasStatement: boolean;
  /** Number of attributes that were dropped. */
  readonly dropped: number;
}

/** Names of OpenTelemetry's current and former conventions, with the names that the attributes have here. */
const RENAMED: Readonly<Record<string, string>> = {
  "db.system.name": "db.system",
  "db.namespace": "db.name",
  "db.operation.name": "db.operation",
  "db.collection.name": "db.sql.table",
  "db.response.status_code": "error.type",
  "http.method": "http.request.method",
  "http.status_code": "http.response.status_code",
  "net.peer.name": "server.address",
};
/** Only one word, or `batch` and a word: some instrumentations record the start of a statement, which may contain a value. */
const OPERATION = /^(?:batch )?\w{1,40}$/i;

/** Returns the attributes of a span under the names that they have here, without those that must not be recorded. */
export function scrubbedAttributes(
  { attributes: given, kind }: ReadableSpan,
  spanOfStatement: (text: string) => SpanOfStatement,
): ScrubbedAttributes {
  const named: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    const known = Object.hasOwn(RENAMED, name) ? RENAMED[name] : undefined;
    if (known === undefined) named[name] = value;
    else if (!Object.hasOwn(given, known)) named[known] = value;
  }
  const text = named["db.query.text"] ?? named["db.statement"];
  // A statement that another package records contains its literals.
  delete named["db.statement"];
  const operation = named["db.operation"];
  if (typeof operation !== "string" || !OPERATION.test(operation)) delete named["db.operation"];
  // On a server span the address comes from the Host header, which is never recorded (TRACE-15).
  if (kind === SERVER) delete named["server.address"];
  const kept = allowedAttributes(named, () => undefined);
  const dropped = Object.keys(given).length - Object.keys(kept).length;
  if (typeof text !== "string") return { attributes: kept, hasStatement: false, dropped };
  const isPostgres = kept["db.system"] === "postgresql";
  const attributes = { ...kept, ...fromText(spanOfStatement(text), isPostgres) };
  return { attributes, hasStatement: true, dropped };
}

/** Returns the attributes that a statement gives its span. Only PostgreSQL's quotes are known, so other systems get no table. */
function fromText({ attributes }: SpanOfStatement, isPostgres: boolean): SpanAttributes {
  if (isPostgres) return attributes;
  const { "db.operation": operation } = attributes;
  return operation === undefined ? {} : { "db.operation": operation };
}
