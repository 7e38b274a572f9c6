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
  return end?.trim() === "" ? combine : undefined;
}

/** What follows the first parenthesis when it is closed; undefined where it never is. */
function afterParenthesis(sql: string): string | undefined {
  let depth = 0;
  for (const { 0: token, index } of sql.matchAll(/'(?:[^']|'')*'|"[^"]*"|[()]/g)) {
    if (token === "(") depth += 1;
    else if (token === ")" && --depth === 0) return sql.slice(index + 1);
  }
  return undefined;
}
