import { createHash } from "node:crypto";

/**
 * Returns the name of a table's migration: `0001_svc_jobs`. Migration tools accept letters, digits and `_`; other characters
 * become `_`, and then eight digits of a hash keep `a.b` apart from `a_b`.
 *
 * @param step how the name begins, for example `0001`
 */
export function migrationName(step: string, table: string): string {
  const words = table.replaceAll(/\W/g, "_");
  if (words === table) return `${step}_${words}`;
  return `${step}_${words}_${createHash("sha256").update(table).digest("hex").slice(0, 8)}`;
}
