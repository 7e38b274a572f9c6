import { hash } from "node:crypto";
import type { SpanAttributes } from "@svc/context";
import { describeStatement } from "./describe-statement.ts";
import { redactStatement } from "./redact-statement.ts";

/** The name and the attributes that a span gets from an SQL text. */
export interface SpanOfStatement {
  readonly name: string;
  readonly attributes: SpanAttributes;
}

/** Number of kept descriptions. A statement with values, such as `limit 1`, may be a new one at every call. */
const MAX_KEPT = { without: 1000, with: 100 } as const;
const MAX_READ_CHARACTERS = 10_000;

/**
 * Returns a function that describes SQL statements. It keeps the descriptions of the newest 1,000 statements without values and of
 * the newest 100 with values, if they have at most 10,000 characters. Of a statement with values it keeps only a digest, because a
 * value may be a secret.
 */
export function createSpanOfStatement(recordStatement: boolean): (text: string) => SpanOfStatement {
  const kept = {
    without: new Map<string, SpanOfStatement>(),
    with: new Map<string, SpanOfStatement>(),
  };
  return function spanOfStatement(text) {
    const before = kept.without.get(text) ?? (kept.with.size > 0 ? kept.with.get(digestOf(text)) : undefined);
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
    if (isLong) return described;
    if (hasLiterals) keep("with", digestOf(text), described);
    else keep("without", text, described);
    return described;
  };

  function keep(values: keyof typeof MAX_KEPT, key: string, described: SpanOfStatement): void {
    const all = kept[values];
    const oldest = all.size < MAX_KEPT[values] ? undefined : all.keys().next().value;
    if (oldest !== undefined) all.delete(oldest);
    all.set(key, described);
  }
}

function digestOf(text: string): string {
  return hash("sha256", text, "base64");
}
