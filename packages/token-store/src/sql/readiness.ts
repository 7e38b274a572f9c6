import type { CheckResult, ReadinessCheck } from "@svc/context";
import { DeadlineError } from "@svc/resilience";
import { safeErrorText, sqlStateOf } from "@svc/sql";
import type { Connection } from "./connection.ts";
import type { ResolvedTokenStore } from "./options.ts";
import { lookSql } from "./statements.ts";

const WORDS: ReadonlyMap<string | undefined, string> = new Map([
  ["42P01", "its table is missing"],
  ["42501", "the database role has no SELECT privilege on the table"],
  ["42703", "its table lacks a column"],
]);

export function createCheck(
  options: ResolvedTokenStore & { readonly quotedTable: string },
  connection: Connection,
): ReadinessCheck {
  const { name, critical, quotedTable } = options;
  async function check(signal: AbortSignal): Promise<CheckResult> {
    try {
      const { read_only: readOnly, writable } = await connection.probe(lookSql(quotedTable), signal);
      if (readOnly === true) return unhealthy("the database is read only: nothing can be revoked");
      if (writable === false)
        return unhealthy("the database role lacks the INSERT or UPDATE privilege on the table");
      return { healthy: true, detail: "connected" };
    } catch (error) {
      if (error instanceof DeadlineError) return unhealthy(`no answer within ${error.ms} ms`);
      return unhealthy(WORDS.get(sqlStateOf(error)) ?? `not answering (${safeErrorText(error)})`);
    }
  }
  return { name, critical, check };
}

function unhealthy(detail: string): CheckResult {
  return { healthy: false, detail };
}
