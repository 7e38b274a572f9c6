import type { CheckResult, ReadinessCheck } from "@svc/context";
import { DeadlineError } from "@svc/resilience";
import { safeErrorText, sqlStateOf } from "@svc/sql";
import type { Connection } from "./connection.ts";
import type { ResolvedOptions } from "./options.ts";
import { lookSql } from "./statements.ts";

const WORDS: ReadonlyMap<string | undefined, string> = new Map([
  ["42P01", "its table is missing"],
  ["42501", "the login may not read its table"],
]);

export function createCheck(options: ResolvedOptions, connection: Connection): ReadinessCheck {
  const { name, critical, quotedTable } = options;
  async function check(signal: AbortSignal): Promise<CheckResult> {
    try {
      const { read_only: readOnly } = await connection.probe(lookSql(quotedTable), signal);
      return readOnly === true
        ? { healthy: false, detail: "the database is read only: nothing can be revoked" }
        : { healthy: true, detail: "connected" };
    } catch (error) {
      if (error instanceof DeadlineError)
        return { healthy: false, detail: `no answer within ${error.ms} ms` };
      const words = WORDS.get(sqlStateOf(error));
      return { healthy: false, detail: words ?? `not answering (${safeErrorText(error)})` };
    }
  }
  return { name, critical, check };
}
