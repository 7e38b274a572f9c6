/** How the totals of two months become those of both. */
export type Combine = "sum" | "min" | "max";

const BY_FUNCTION: ReadonlyMap<string, Combine> = new Map([
  ["count", "sum"],
  ["sum", "sum"],
  ["min", "min"],
  ["max", "max"],
]);

/**
 * How an aggregate adds up, where its text is one call of count, sum, min or max and nothing else; undefined where it takes a
 * person to say. `sum(a) / count(*)` begins like a sum and is none.
 */
export function combineOf(sql: string): Combine | undefined {
  const call = /^\s*(\w+)\s*\(\s*(distinct\b)?/i.exec(sql);
  const combine = BY_FUNCTION.get(call?.[1]?.toLowerCase() ?? "");
  if (call === null || combine === undefined) return undefined;
  // The smallest of different values is the smallest of all; their number and sum are not.
  if (call[2] !== undefined && combine === "sum") return undefined;
  const rest = afterParenthesis(sql);
  if (rest === undefined) return undefined;
  const filter = /^\s*filter\s*(?=\()/i.exec(rest);
  const end = filter === null ? rest : afterParenthesis(rest);
  return end?.replaceAll(COMMENTS, "").trim() === "" ? combine : undefined;
}

// Texts, names, comments, and what stands between them: a parenthesis.
const TOKENS =
  /\be'(?:[^'\\]|''|\\[\s\S])*'|'(?:[^']|'')*'|"[^"]*"|\$([a-z_]\w*)?\$[\s\S]*?\$\1\$|--[^\n]*|\/\*[\s\S]*?\*\/|[()]/gi;

const COMMENTS = /--[^\n]*|\/\*[\s\S]*?\*\//g;

/** What follows the first parenthesis when it is closed; undefined where it never is. */
function afterParenthesis(sql: string): string | undefined {
  let depth = 0;
  for (const { 0: token, index } of sql.matchAll(TOKENS)) {
    if (token === "(") depth += 1;
    else if (token === ")" && --depth === 0) return sql.slice(index + 1);
  }
  return undefined;
}

/** Whether every parenthesis of a text is closed in it: what is put in parentheses stays in them then. */
export function isBalanced(sql: string): boolean {
  let depth = 0;
  for (const { 0: token } of sql.matchAll(TOKENS)) {
    if (token === "(") depth += 1;
    else if (token === ")" && --depth < 0) return false;
  }
  return depth === 0;
}
