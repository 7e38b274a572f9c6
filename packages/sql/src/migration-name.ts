import { createHash } from "node:crypto";

/**
 * What a migration of a table is called: `0001_svc_jobs`. Tools keep names of letters, digits and `_`, so anything else is
 * replaced, and where that happened eight digits of a hash tell `a.b` from `a_b`.
 *
 * @param step what the name begins with, `0001` say
 */
export function migrationName(step: string, table: string): string {
  const words = table.replaceAll(/\W/g, "_");
  if (words === table) return `${step}_${words}`;
  return `${step}_${words}_${createHash("sha256").update(table).digest("hex").slice(0, 8)}`;
}
