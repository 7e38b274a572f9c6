/** The function that combines the totals of several months. */
export type Combine = "sum" | "min" | "max";

const BY_FUNCTION: ReadonlyMap<string, Combine> = new Map([
  ["count", "sum"],
  ["sum", "sum"],
  ["min", "min"],
  ["max", "max"],
]);

/**
 * Returns how to combine the results of an aggregate that is a single call to count, sum, min or max; undefined for any
 * other aggregate, for which the definition must set `combine`. `sum(a) / count(*)` begins like a sum but is not one.
 */
export function combineOf(sql: string): Combine | undefined {
  const call = /^\s*(\w+)\s*\(\s*(distinct\b)?/i.exec(sql);
  const combine = BY_FUNCTION.get(call?.[1]?.toLowerCase() ?? "");
  if (call === null || combine === undefined) return undefined;
  // Results of min and max with `distinct` can be combined; results of count and sum cannot.
  if (call[2] !== undefined && combine === "sum") return undefined;
  const rest = afterParenthesis(sql);
  if (rest === undefined) return undefined;
  const filter = /^\s*filter\s*(?=\()/i.exec(rest);
  const end = filter === null ? rest : afterParenthesis(rest);
  return end?.replaceAll(COMMENTS, "").trim() === "" ? combine : undefined;
}

// Matches parentheses, and the string literals, quoted names and comments in which parentheses do not count.
const TOKENS =
  /\be'(?:[^'\\]|''|\\[\s\S])*'|'(?:[^']|'')*'|"[^"]*"|\$([a-z_]\w*)?\$[\s\S]*?\$\1\$|--[^\n]*|\/\*[\s\S]*?\*\/|[()]/gi;

const COMMENTS = /--[^\n]*|\/\*[\s\S]*?\*\//g;

/** Returns the text after the first balanced pair of parentheses, or undefined if the first one is never closed. */
function afterParenthesis(sql: string): string | undefined {
  let depth = 0;
  for (const { 0: token, index } of sql.matchAll(TOKENS)) {
    if (token === "(") depth += 1;
    else if (token === ")" && --depth === 0) return sql.slice(index + 1);
  }
  return undefined;
}

/** Returns whether all parentheses in an SQL text are balanced, so that it can be enclosed in parentheses. */
export function isBalanced(sql: string): boolean {
  let depth = 0;
  for (const { 0: token } of sql.matchAll(TOKENS)) {
    if (token === "(") depth += 1;
    else if (token === ")" && --depth < 0) return false;
  }
  return depth === 0;
}
