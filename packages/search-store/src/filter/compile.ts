import type { Parameters } from "../parameters.ts";
import type { Condition, FilterValue, Order } from "./parse-filter.ts";

const COMPARED: Readonly<Record<Order, string>> = { gt: ">", gte: ">=", lt: "<", lte: "<=" };

/**
 * Returns a condition on the column `meta`. Keys and values become parameters, never part of the SQL. Each comparison is
 * true or false and never null, so that `not` also matches rows that lack the key.
 *
 * @param keys the keys that have their own index
 */
export function compileCondition(
  condition: Condition,
  parameters: Parameters,
  keys: readonly string[],
): string {
  if ("join" in condition) {
    // An empty `and` is true, an empty `or` is false.
    if (condition.of.length === 0) return condition.join === "and" ? "true" : "false";
    return `(${condition.of.map((each) => compileCondition(each, parameters, keys)).join(` ${condition.join} `)})`;
  }
  if ("not" in condition) return `not ${compileCondition(condition.not, parameters, keys)}`;
  const key = (): string => parameters.add(condition.key, "text");
  if ("exists" in condition) return `((meta -> ${key()}) is ${condition.exists ? "not null" : "null"})`;
  if ("eq" in condition) return equal(condition.key, condition.eq, parameters, keys);
  if ("in" in condition) {
    if (condition.in.length === 0) return "false";
    const listed = parameters.add(JSON.stringify(condition.in), "text");
    // `@>` finds a value in the list, but also matches a stored sublist, so require that the stored value is not a list
    // or object.
    return `coalesce(${listed}::jsonb @> (meta -> ${key()})
      and jsonb_typeof(meta -> ${key()}) not in ('array', 'object'), false)`;
  }
  const operator = COMPARED[condition.order];
  if (typeof condition.than === "number") {
    const than = parameters.add(JSON.stringify(condition.than), "text");
    return `coalesce(jsonb_typeof(meta -> ${key()}) = 'number'
      and (meta -> ${key()}) ${operator} ${than}::jsonb, false)`;
  }
  // Compare by code points, independent of the database's collation: ISO dates then compare correctly.
  const than = parameters.add(condition.than, "text");
  return `coalesce(jsonb_typeof(meta -> ${key()}) = 'string'
    and (meta ->> ${key()}) collate "C" ${operator} ${than}, false)`;
}

function equal(key: string, value: FilterValue, parameters: Parameters, keys: readonly string[]): string {
  // A computed key also creates an own property for `__proto__`.
  const whole = parameters.add(JSON.stringify({ [key]: value }), "text");
  const contained = `(meta @> ${whole}::jsonb)`;
  if (typeof value !== "string" || !keys.includes(key)) return contained;
  // The second condition can use the key's index. The first one excludes a number with the same digits.
  return `(${contained} and (meta ->> ${parameters.add(key, "text")}) = ${parameters.add(value, "text")})`;
}
