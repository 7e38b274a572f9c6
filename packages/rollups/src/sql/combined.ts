import type { Measure } from "../definition.ts";

/** The total of several months. Their sum may have more digits than the type has for one, and keeps those after the point. */
export function combinedSql({ sql, type, combine = "sum" }: Measure): string {
  return `${combine}(kept.${sql})::${/^(?:numeric|decimal|dec)\b/.test(type) ? "numeric" : type} as ${sql}`;
}
