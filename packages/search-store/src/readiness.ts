import type { CheckResult, ReadinessCheck } from "@svc/context";
import { singleFlight } from "@svc/resilience";
import { safeErrorText, SqlDeadlineError } from "@svc/sql";
import { command, isEmbedded, query } from "./access.ts";
import type { ResolvedOptions } from "./options.ts";

const SELECT = `
select (select extversion from pg_catalog.pg_extension where extname = 'vector') as version,
  to_regclass($1) is not null as present,
  exists (select from pg_catalog.pg_attribute
    where attrelid = to_regclass($1) and attname = 'embedding' and not attisdropped) as embeds,
  (select count(*)::int from pg_catalog.pg_stat_progress_create_index
    where relid = to_regclass($1)) as building`;

type StateRow = { version: string | null; present: boolean; embeds: boolean; building: number };

/** Creates a check of pgvector and the table. Never critical, since a service can work without its search. */
export function createReadiness(options: ResolvedOptions): ReadinessCheck {
  const { quotedTable } = options;
  const place = isEmbedded(options.db) ? ", embedded" : " on the server";

  // Share a running query, so that checks that time out do not pile up statements.
  const look = singleFlight(async (): Promise<CheckResult> => {
    try {
      const { db } = command(options, "readiness()");
      const { rows } = await query<StateRow>(db, SELECT, [quotedTable]);
      const { version = null, present = false, embeds = true, building = 0 } = rows[0] ?? {};
      if (version === null) return down("pgvector is missing: run `create extension vector`");
      if (!present) return down("its table is missing");
      // `drop extension vector cascade` drops the column.
      if (!embeds) return down("its table has lost the column embedding: restore it, or drop the table");
      const builds = building === 0 ? "" : `, ${building} index(es) being built`;
      const detail = `pgvector ${version}${place}${builds}`;
      return { healthy: true, detail, meta: { pgvector: version, ...(building > 0 && { building }) } };
    } catch (error) {
      if (error instanceof SqlDeadlineError) return down(`no answer within ${error.timeoutMs} ms`);
      return down(`not answering (${safeErrorText(error)})`);
    }
  });
  const check = (signal?: AbortSignal): Promise<CheckResult> =>
    signal === undefined ? look() : Promise.race([look(), tooLate(signal)]);
  return { name: "search-store", critical: false, check };
}

function tooLate(signal: AbortSignal): Promise<CheckResult> {
  const { promise, resolve } = Promise.withResolvers<CheckResult>();
  const late = (): void => resolve(down("not answering in time"));
  if (signal.aborted) late();
  else signal.addEventListener("abort", late, { once: true });
  return promise;
}

function down(detail: string): CheckResult {
  return { healthy: false, critical: false, detail };
}
