import { bounded, type Database, isPool, type Queryable, withTransaction } from "@svc/sql";
import { checkMembers, eachMonth, monthsOf, type TenantDates, tenantOf } from "./arguments.ts";
import { asTenant, checkReadCommitted, maintenance } from "./connection.ts";
import { explained } from "./errors.ts";
import type { Definition } from "./definition.ts";
import { checkAnswer, type Refresher } from "./refresh.ts";
import type { Recomputed } from "./sql/recompute.ts";
import { lockAllSql, recomputeAllSql, setZoneSql } from "./sql/recompute-all.ts";

/** Result of a rebuild. */
export interface Rebuilt {
  /** Number of months recomputed. */
  readonly months: number;
  /** Number of totals rows inserted or updated. */
  readonly written: number;
  /** Number of totals rows deleted because their group no longer has any source rows. */
  readonly removed: number;
}

/** Recomputes the months of a range, each in its own transaction (ROLL-5, ROLL-7). */
export async function rebuildRange(
  db: Database,
  definition: Definition,
  refresher: Refresher,
  given: TenantDates,
): Promise<Rebuilt> {
  checkMembers("the last argument of rebuild()", given, ["tenant", "from", "to"]);
  const tenant = tenantOf(definition, given.tenant);
  const months = eachMonth(monthsOf(given, { bounded: true }));
  let [written, removed] = [0, 0];
  for (const month of months) {
    const done = await asTenant(db, maintenance(definition, "rebuild()"), definition, tenant, async (tx) =>
      refresher.recompute(tx, await refresher.lockMonth(tx, tenant, month)),
    );
    written += done.written;
    removed += done.removed;
  }
  return { months: months.length, written, removed };
}

/** Recomputes all buckets in one transaction, and stores the definition's time zone (ROLL-2, ROLL-4). */
export async function rebuildEverything(
  given: Database,
  definition: Definition,
): Promise<Omit<Rebuilt, "months">> {
  const db: Database = bounded(given, maintenance(definition, "rebuildAll()"));
  const work = (tx: Queryable): Promise<Omit<Rebuilt, "months">> =>
    explained(definition, async () => {
      const locked = await tx.query<{ isolation: string }>(lockAllSql(definition));
      checkReadCommitted(locked.rows[0]);
      await tx.query(setZoneSql(definition));
      const { rows } = await tx.query<Recomputed>(recomputeAllSql(definition), [definition.setting ?? null]);
      const [answer] = rows;
      checkAnswer(definition, undefined, answer);
      return { written: answer.written, removed: answer.removed };
    });
  return isPool(db) ? withTransaction(db, work, { isolation: "read committed" }) : withTransaction(db, work);
}
