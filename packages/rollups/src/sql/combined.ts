import type { Measure } from "../definition.ts";

/**
 * Returns the SQL expression for the total of several months. A `numeric` sum may need more digits than the column of
 * one month has; its scale is kept. Sums of whole numbers keep their type, because drivers return `bigint` as a string.
 */
export function combinedSql({ sql, type, combine = "sum" }: Measure): string {
  return `${combine}(kept.${sql})::${/^(?:numeric|decimal|dec)\b/.test(type) ? "numeric" : type} as ${sql}`;
}
