import type { Database, Queryable, Row } from "@svc/sql";
import { checkMembers, monthsOf, type TenantDates, tenantOf } from "./arguments.ts";
import { asTenant, maintenance } from "./connection.ts";
import { explained } from "./errors.ts";
import type { Definition } from "./definition.ts";
import { checkSecured, checkZoneOf } from "./refresh.ts";
import { adviceOf } from "./schema.ts";
import type { Recomputed } from "./sql/recompute.ts";
import { driftSql, guardOnlySql, hasIndexSql } from "./sql/drift.ts";

/** A row of the totals that is not what its rows add up to. */
export interface Drift {
  /** The first day of the local month, `YYYY-MM-DD`. */
  readonly month: string;
  /** The groups by name. */
  readonly group: Row;
  /** The measures by name that the rows add up to; null where there are no rows. */
  readonly expected: Row | null;
  /** The measures by name that the totals have; null where they have none. */
  readonly stored: Row | null;
}

/** What `verify` found. */
export interface Verified {
  /** Empty where every bucket equals its rows. */
  readonly drift: readonly Drift[];
  /** What makes refreshes slow, in words. */
  readonly warnings: readonly string[];
}

interface DriftRow extends Row {
  readonly svc_side: "expected" | "stored";
  readonly month: string;
}

/** Compares both ways, in one snapshot, without a lock. */
export async function verifyRange(
  db: Database,
  definition: Definition,
  given: TenantDates,
): Promise<Verified> {
  checkMembers("verify()", given, ["tenant", "from", "to"]);
  const tenant = tenantOf(definition, given.tenant);
  const months = monthsOf(given, { bounded: true });
  const work = (tx: Queryable): Promise<Verified> => compare(tx, definition, tenant, months);
  return explained(definition, () =>
    asTenant(db, maintenance(definition, "verify()"), definition, tenant, work),
  );
}

async function compare(
  tx: Queryable,
  definition: Definition,
  tenant: string | null,
  months: readonly string[],
): Promise<Verified> {
  const guard = (await tx.query<Recomputed>(guardOnlySql(definition), [definition.setting ?? null])).rows[0];
  checkZoneOf(definition, guard?.zone ?? null);
  if (guard !== undefined) checkSecured(guard, tenant);
  const values = [...months, ...(tenant === null ? [] : [tenant])];
  const { rows } = await tx.query<DriftRow>(driftSql(definition, tenant !== null), values);
  const [index] = (
    await tx.query<{ present: boolean }>(hasIndexSql(definition), [
      definition.givenTenant ?? null,
      definition.givenTime,
    ])
  ).rows;
  const warning = `the source has no index that a month of a tenant is read by: ${adviceOf(definition)}`;
  return { drift: pairs(definition, rows), warnings: index?.present === false ? [warning] : [] };
}

/** The two sides of one group beside each other. */
function pairs({ groups, measures }: Definition, rows: readonly DriftRow[]): Drift[] {
  const found = new Map<string, Drift>();
  for (const row of rows) {
    const group = Object.fromEntries(groups.map(({ name }) => [name, row[name]]));
    const figures = Object.fromEntries(measures.map(({ name }) => [name, row[name]]));
    // A driver may have been told to read a bigint as one, and JSON has none.
    const key = JSON.stringify([row.month, group], (_, value: unknown) =>
      typeof value === "bigint" ? String(value) : value,
    );
    const drift = found.get(key) ?? { month: row.month, group, expected: null, stored: null };
    found.set(key, { ...drift, [row.svc_side]: figures });
  }
  return [...found.values()];
}
