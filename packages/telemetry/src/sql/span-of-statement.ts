import type { SpanAttributes } from "@svc/context";
import { describeStatement } from "./describe-statement.ts";
import { redactStatement } from "./redact-statement.ts";

/** The name and the attributes that a span gets from an SQL text. */
export interface SpanOfStatement {
  readonly name: string;
  readonly attributes: SpanAttributes;
}

const MAX_KEPT = 1000;
const MAX_READ_CHARACTERS = 10_000;

/**
 * Returns a function that describes SQL statements. It keeps the descriptions of the last 1,000 statements that may be sent
 * again: those of at most 10,000 characters without values.
 */
export function createSpanOfStatement(recordStatement: boolean): (text: string) => SpanOfStatement {
  const kept = new Map<string, SpanOfStatement>();
  return function spanOfStatement(text) {
    const before = kept.get(text);
    if (before !== undefined) return before;
    // A long text, such as that of a bulk insert, would block the event loop. A statement behind the cut may use other tables.
    const isLong = text.length > MAX_READ_CHARACTERS;
    const read = isLong ? text.slice(0, MAX_READ_CHARACTERS) : text;
    const { operation, table: known, hasLiterals } = describeStatement(read);
    const table = isLong ? undefined : known;
    const attributes: Record<string, string> = { "db.system": "postgresql" };
    if (operation !== undefined) attributes["db.operation"] = operation;
    if (table !== undefined) attributes["db.sql.table"] = table;
    if (recordStatement) attributes["db.statement"] = redactStatement(read);
    const name = operation === undefined ? "SQL" : table === undefined ? operation : `${operation} ${table}`;
    const described = { name, attributes };
    if (!hasLiterals && !isLong) keep(text, described);
    return described;
  };

  function keep(text: string, described: SpanOfStatement): void {
    const oldest = kept.size < MAX_KEPT ? undefined : kept.keys().next().value;
    if (oldest !== undefined) kept.delete(oldest);
    kept.set(text, described);
  }
}
