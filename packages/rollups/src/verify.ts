import type { Database, Queryable, Row } from "@svc/sql";
import { checkMembers, monthsOf, type TenantDates, tenantOf } from "./arguments.ts";
import { asTenant, maintenance } from "./connection.ts";
import { explained } from "./errors.ts";
import type { Definition } from "./definition.ts";
import { checkSecured, checkZoneOf } from "./refresh.ts";
import { adviceOf } from "./schema.ts";
import type { Recomputed } from "./sql/recompute.ts";
import { driftSql, guardOnlySql, hasIndexSql } from "./sql/drift.ts";

/** A row of the totals that differs from the sum of its source rows. */
export interface Drift {
  /** First day of the local month, `YYYY-MM-DD`. */
  readonly month: string;
  /** Values of the groups, by name of the group. */
  readonly group: Row;
  /** Values of the measures, computed from the rows; null if there are no rows. */
  readonly expected: Row | null;
  /** Values of the measures, as stored in the totals; null if there are no totals. */
  readonly stored: Row | null;
}

/** Result of `verify`. */
export interface Verified {
  /** Differences; empty if every bucket equals its rows. */
  readonly drift: readonly Drift[];
  /** Messages about possible causes of slow refreshes. */
  readonly warnings: readonly string[];
}

interface DriftRow extends Row {
  readonly svc_side: "expected" | "stored";
  readonly month: string;
}

/** Compares totals and rows in both directions, in one snapshot, without a lock. */
export async function verifyRange(
  db: Database,
  definition: Definition,
  given: TenantDates,
): Promise<Verified> {
  checkMembers("the last argument of verify()", given, ["tenant", "from", "to"]);
  const tenant = tenantOf(definition, given.tenant);
  const months = monthsOf(given, { bounded: true });
  const work = async (tx: Queryable): Promise<Verified> => ({
    drift: await compareRange(tx, definition, tenant, months),
    warnings: await indexWarnings(tx, definition),
  });
  return explained(definition, () =>
    asTenant(db, maintenance(definition, "verify()"), definition, tenant, work),
  );
}

/** Compares the months of a tenant in one snapshot of the given transaction. */
export async function compareRange(
  tx: Queryable,
  definition: Definition,
  tenant: string | null,
  months: readonly string[],
): Promise<readonly Drift[]> {
  const guard = (await tx.query<Recomputed>(guardOnlySql(definition), [definition.setting ?? null])).rows[0];
  checkZoneOf(definition, guard?.zone ?? null);
  if (guard !== undefined) checkSecured(guard, tenant);
  const values = [...months, ...(tenant === null ? [] : [tenant])];
  const { rows } = await tx.query<DriftRow>(driftSql(definition, tenant !== null), values);
  return pairs(definition, rows);
}

async function indexWarnings(tx: Queryable, definition: Definition): Promise<readonly string[]> {
  const columns = [definition.givenTenant ?? null, definition.givenTime];
  const [index] = (await tx.query<{ present: boolean }>(hasIndexSql(definition), columns)).rows;
  if (index?.present !== false) return [];
  return [`the source has no index for reading a month of a tenant: ${adviceOf(definition)}`];
}

/** Pairs the expected and the stored measures of each group. */
function pairs({ groups, measures }: Definition, rows: readonly DriftRow[]): Drift[] {
  const found = new Map<string, Drift>();
  for (const row of rows) {
    const group = Object.fromEntries(groups.map(({ name }) => [name, row[name]]));
    const figures = Object.fromEntries(measures.map(({ name }) => [name, row[name]]));
    // Convert bigint values, which some drivers return and JSON.stringify() rejects.
    const key = JSON.stringify([row.month, group], (_, value: unknown) =>
      typeof value === "bigint" ? String(value) : value,
    );
    const drift = found.get(key) ?? { month: row.month, group, expected: null, stored: null };
    found.set(key, { ...drift, [row.svc_side]: figures });
  }
  return [...found.values()];
}
