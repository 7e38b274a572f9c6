import type { ResolvedOptions } from "../options.ts";
import { createParameters, type Parameters } from "../sql/parameters.ts";
import { type Condition, type FilterValue, type Order, parseFilter } from "./parse-filter.ts";

const COMPARED: Readonly<Record<Order, string>> = { gt: ">", gte: ">=", lt: "<", lte: "<=" };

/**
 * A condition on the column `meta`. Its keys and values are parameters, appended to `values`, and never text of the
 * statement. Every comparison is true or false and never null, so that `not` finds also what lacks the key.
 *
 * @throws SearchError `ERR_SVC_SEARCH_FILTER`, naming the place
 */
export function compileFilter(
  { filterKeys }: Pick<ResolvedOptions, "filterKeys">,
  filter: unknown,
  values: unknown[],
): string {
  return compileCondition(parseFilter(filter), createParameters(values), filterKeys);
}

/** As {@link compileFilter}, of a filter that was read before. `keys` have an index of their own. */
export function compileCondition(
  condition: Condition,
  parameters: Parameters,
  keys: readonly string[],
): string {
  if ("join" in condition) {
    // Nothing to hold holds; nothing to choose from does not.
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
    // A list contains a value, and also a part of itself: what is stored must be a value.
    return `coalesce(${listed}::jsonb @> (meta -> ${key()})
      and jsonb_typeof(meta -> ${key()}) not in ('array', 'object'), false)`;
  }
  const operator = COMPARED[condition.order];
  if (typeof condition.than === "number") {
    const than = parameters.add(JSON.stringify(condition.than), "text");
    return `coalesce(jsonb_typeof(meta -> ${key()}) = 'number'
      and (meta -> ${key()}) ${operator} ${than}::jsonb, false)`;
  }
  // By code points, whatever the database's collation: dates in ISO form compare as dates.
  const than = parameters.add(condition.than, "text");
  return `coalesce(jsonb_typeof(meta -> ${key()}) = 'string'
    and (meta ->> ${key()}) collate "C" ${operator} ${than}, false)`;
}

function equal(key: string, value: FilterValue, parameters: Parameters, keys: readonly string[]): string {
  // A computed key makes an own property also of `__proto__`.
  const whole = parameters.add(JSON.stringify({ [key]: value }), "text");
  const contained = `(meta @> ${whole}::jsonb)`;
  if (typeof value !== "string" || !keys.includes(key)) return contained;
  // What the index of the key is about. A number with the same digits, or no such key, is the other half's to refuse.
  return `(${contained} and (meta ->> ${parameters.add(key, "text")}) = ${parameters.add(value, "text")})`;
}
