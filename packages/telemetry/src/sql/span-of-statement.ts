import { hash } from "node:crypto";
import type { SpanAttributes } from "@svc/context";
import { describeStatement } from "./describe-statement.ts";
import { redactStatement } from "./redact-statement.ts";

/** The name and the attributes that a span gets from an SQL text. */
export interface SpanOfStatement {
  readonly name: string;
  readonly attributes: SpanAttributes;
}

const MAX_PLAIN = 1000;
/** Lower than `MAX_PLAIN`, because a statement with values, such as `limit 1`, may differ at every call. */
const MAX_WITH_VALUES = 100;
const MAX_READ_CHARACTERS = 10_000;

/**
 * Returns a function that describes SQL statements. It keeps the descriptions of the newest 1,000 statements without values and of
 * the newest 100 with values, if they have at most 10,000 characters. Of a statement with values it keeps only a digest, because a
 * value may be a secret.
 */
export function createSpanOfStatement(recordStatement: boolean): (text: string) => SpanOfStatement {
  const plain = new Map<string, SpanOfStatement>();
  const withValues = new Map<string, SpanOfStatement>();

  function describe(text: string, isCut: boolean): SpanOfStatement & { readonly hasLiterals: boolean } {
    const { operation, table: known, hasLiterals } = describeStatement(text);
    // The text after the cut may use other tables.
    const table = isCut ? undefined : known;
    const attributes: Record<string, string> = { "db.system": "postgresql" };
    if (operation !== undefined) attributes["db.operation"] = operation;
    if (table !== undefined) attributes["db.sql.table"] = table;
    if (recordStatement) attributes["db.statement"] = redactStatement(text);
    const name = operation === undefined ? "SQL" : table === undefined ? operation : `${operation} ${table}`;
    return { name, attributes, hasLiterals };
  }

  return function spanOfStatement(text) {
    // Reading or hashing a long text, such as that of a bulk insert, would block the event loop.
    if (text.length > MAX_READ_CHARACTERS) return describe(text.slice(0, MAX_READ_CHARACTERS), true);
    const known = plain.get(text);
    if (known !== undefined) return known;
    const digest = hash("sha256", text, "base64");
    const knownValues = withValues.get(digest);
    if (knownValues !== undefined) return knownValues;
    const described = describe(text, false);
    if (described.hasLiterals) keep(withValues, MAX_WITH_VALUES, digest, described);
    else keep(plain, MAX_PLAIN, text, described);
    return described;
  };
}

function keep(
  kept: Map<string, SpanOfStatement>,
  most: number,
  key: string,
  described: SpanOfStatement,
): void {
  const oldest = kept.size < most ? undefined : kept.keys().next().value;
  if (oldest !== undefined) kept.delete(oldest);
  kept.set(key, described);
}
