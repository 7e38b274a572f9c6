import { statementTokens } from "./statement-tokens.ts";

/** The description of an SQL text in a span, without the text itself. */
export interface StatementDescription {
  /** First keyword in upper case; after common table expressions, the keyword of the main query if it can be found. */
  readonly operation: string | undefined;
  /** Name as written, without quotes; undefined unless the text is one statement that uses one table. */
  readonly table: string | undefined;
  /** Whether the text contains values and is therefore unlikely to be sent again. */
  readonly hasLiterals: boolean;
}

/** The parts of an SQL text outside parentheses: words, quoted identifiers with their quotes, and symbols. */
interface Outline {
  readonly parts: readonly string[];
  /** First word in upper case, in parentheses or not. */
  readonly firstWord: string | undefined;
  /** Number of the words `select` and `table`, in parentheses or not: each begins a query. Infinite for a long text. */
  readonly queries: number;
  readonly hasLiterals: boolean;
}

const GROUP = "()";
const IDENTIFIER = /^(?:"[^]{1,63}"|[A-Za-z_\u0080-\uffff][^]{0,62})$/;
// A longer text would block the event loop for several milliseconds.
const MAX_READ = 100_000;
// Other first words are not recorded, because a malformed text may begin with a value.
const OPERATIONS = setOf(
  `ABORT ALTER ANALYZE BEGIN CALL CHECKPOINT CLOSE CLUSTER COMMENT COMMIT COPY CREATE DEALLOCATE DECLARE DELETE DISCARD
  DO DROP END EXECUTE EXPLAIN FETCH GRANT IMPORT INSERT LISTEN LOAD LOCK MERGE MOVE NOTIFY PREPARE REASSIGN REFRESH
  REINDEX RELEASE RESET REVOKE ROLLBACK SAVEPOINT SECURITY SELECT SET SHOW START TABLE TRUNCATE UNLISTEN UPDATE VACUUM
  VALUES WITH`,
);
const MAIN_OPERATIONS = setOf("SELECT INSERT UPDATE DELETE MERGE VALUES TABLE");
const AFTER_FROM = setOf("WHERE GROUP HAVING WINDOW ORDER LIMIT OFFSET FETCH FOR");
const TABLE_WORDS = setOf("FROM INTO USING JOIN");
// After these, such a word is an operator, as in `is distinct from`, or a column: PostgreSQL allows `t.from` and `as from`.
const BEFORE_OTHER_USE = setOf("DISTINCT . AS");

function setOf(words: string): ReadonlySet<string> {
  return new Set(words.split(/\s+/));
}

/** Finds the operation of an SQL text and, up to 100,000 characters, its table. */
export function describeStatement(text: string): StatementDescription {
  const outline = outlineOf(text);
  const { firstWord = "", hasLiterals } = outline;
  if (!OPERATIONS.has(firstWord)) return { operation: undefined, table: undefined, hasLiterals };
  const operation = firstWord === "WITH" ? mainOperation(outline.parts) : firstWord;
  return { operation, table: tableOf(firstWord, outline), hasLiterals };
}

function outlineOf(text: string): Outline {
  const parts: string[] = [];
  let firstWord: string | undefined;
  let queries = 0;
  let hasLiterals = false;
  let depth = 0;
  for (const { kind, start, end } of statementTokens(text)) {
    if (start > MAX_READ) return { parts, firstWord, queries: Infinity, hasLiterals };
    if (kind === "literal") hasLiterals = true;
    if (kind === "space" || (depth > 0 && kind !== "word" && kind !== "symbol")) continue;
    const part = kind === "literal" ? "?" : text.slice(start, end);
    if (kind === "word") {
      const word = part.toUpperCase();
      firstWord ??= word;
      if (word === "SELECT" || word === "TABLE") queries += 1;
    }
    if (part === ")" && depth > 0) depth -= 1;
    else if (depth === 0) parts.push(part === "(" ? GROUP : part);
    if (part === "(") depth += 1;
  }
  while (parts.at(-1) === ";") parts.pop();
  return { parts, firstWord, queries, hasLiterals };
}

/** Returns the operation after common table expressions, or `WITH` when their end is not certain. */
function mainOperation(parts: readonly string[]): string {
  let at = wordAt(parts, 1) === "RECURSIVE" ? 2 : 1;
  for (; ; at++) {
    at += parts[at + 1] === GROUP ? 2 : 1;
    if (wordAt(parts, at++) !== "AS") return "WITH";
    if (wordAt(parts, at) === "NOT") at += 1;
    if (wordAt(parts, at) === "MATERIALIZED") at += 1;
    if (parts[at++] !== GROUP) return "WITH";
    if (parts[at] !== ",") break;
  }
  const operation = wordAt(parts, at);
  return MAIN_OPERATIONS.has(operation) ? operation : "WITH";
}

function tableOf(operation: string, { parts, queries }: Outline): string | undefined {
  if (queries > (operation === "SELECT" ? 1 : 0) || parts.includes(";")) return undefined;
  let at = startOfTable(operation, parts);
  if (at === undefined) return undefined;
  if (wordAt(parts, at) === "ONLY") at += 1;
  const names: string[] = [];
  do {
    const name = parts[at] ?? "";
    if (!IDENTIFIER.test(name)) return undefined;
    names.push(name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name);
    at += 2;
  } while (parts[at - 1] === ".");
  const isOnly =
    operation === "SELECT"
      ? endsFrom(parts, at - 1)
      : !parts.some((_, each) => each >= at - 1 && isTableWord(parts, each));
  return isOnly ? names.join(".") : undefined;
}

/** Returns the index of the table's name. */
function startOfTable(operation: string, parts: readonly string[]): number | undefined {
  if (wordAt(parts, 0) !== operation) return undefined;
  switch (operation) {
    case "UPDATE":
      return 1;
    case "INSERT":
      return wordAt(parts, 1) === "INTO" ? 2 : undefined;
    case "DELETE":
      return wordAt(parts, 1) === "FROM" ? 2 : undefined;
    case "SELECT": {
      const at = parts.findIndex((_, each) => isTableWord(parts, each));
      // `select … into` creates a second table.
      return wordAt(parts, at) === "FROM" ? at + 1 : undefined;
    }
    default:
      return undefined;
  }
}

/** Returns whether the list after `from` ends after the name and alias of one table. */
function endsFrom(parts: readonly string[], afterName: number): boolean {
  let at = afterName;
  if (parts[at] === "*") at += 1;
  if (wordAt(parts, at) === "AS") at += 2;
  else if (!AFTER_FROM.has(wordAt(parts, at)) && IDENTIFIER.test(parts[at] ?? "")) at += 1;
  return at >= parts.length || AFTER_FROM.has(wordAt(parts, at));
}

/** Returns whether a table follows. */
function isTableWord(parts: readonly string[], at: number): boolean {
  return TABLE_WORDS.has(wordAt(parts, at)) && !BEFORE_OTHER_USE.has(wordAt(parts, at - 1));
}

function wordAt(parts: readonly string[], at: number): string {
  return parts[at]?.toUpperCase() ?? "";
}
