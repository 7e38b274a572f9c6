import { type Database, isConnectionError, type Queryable, safeErrorText } from "@svc/sql";
import { checkMembers, eachMonth, type LocalDates, monthsOf } from "./arguments.ts";
import { asTenant, command, maintenance, onConnection } from "./connection.ts";
import type { Definition } from "./definition.ts";
import { explained, refused, RollupError } from "./errors.ts";
import type { RefreshJobs, RefreshQueue } from "./jobs.ts";
import type { Refresher } from "./refresh.ts";
import { listedTenantsSql, sourceTenantsSql, tenantFactsSql, totalsTenantsSql } from "./sql/tenants.ts";
import { compareRange } from "./verify.ts";

/** One turn of a verification of all tenants. */
export interface VerifyTurn extends LocalDates {
  /** `next` of the previous turn. Default: begin with the first tenant. */
  readonly after?: string | undefined;
  /** Maximum number of tenants in this turn, 1 to 10,000. Default: 100. */
  readonly tenants?: number | undefined;
  /**
   * The queue of `enqueueRefresh()`: a bucket with a pending refresh does not count as drift. Required where refreshes run
   * as jobs; otherwise their buckets count until the jobs have run. Default: none.
   */
  readonly jobs?: RefreshQueue | undefined;
  /** Whether to recompute buckets that differ. Default: false. */
  readonly repair?: boolean | undefined;
  /** Ends the turn after the current tenant. Default: none. */
  readonly signal?: AbortSignal | undefined;
}

/** A bucket that differs from its rows. */
export interface DriftedBucket {
  readonly tenant: string | null;
  /** First day of the local month, `YYYY-MM-DD`. */
  readonly month: string;
  /** Whether the bucket has been recomputed. */
  readonly repaired: boolean;
  /** The reason why the bucket could not be recomputed. */
  readonly reason?: string | undefined;
}

/** A tenant of which at least one month could not be compared. */
export interface FailedTenant {
  readonly tenant: string | null;
  /** The SQLSTATE or the code of the error. */
  readonly reason: string;
}

/** Result of `verifyNext`. */
export interface VerifiedTurn {
  /** Number of tenants compared. */
  readonly tenants: number;
  readonly drift: readonly DriftedBucket[];
  /** The tenants that could not be compared, for example because a measure fails for their rows. */
  readonly failed: readonly FailedTenant[];
  /** Start of the next turn; undefined after the last tenant. */
  readonly next: string | undefined;
}

const MEMBERS = ["from", "to", "after", "tenants", "jobs", "repair", "signal"];
const PHASES = ["rows", "totals"] as const;
type Phase = (typeof PHASES)[number];

/** Start of a turn. Tenants with rows come first, then tenants that have only totals. */
interface Position {
  readonly phase: Phase;
  readonly tenant: string | undefined;
}

/**
 * Compares the totals and rows of the next tenants. Each statement compares at most twelve months of one tenant in its own
 * transaction, so that no statement or transaction lasts long.
 */
export async function verifyTurn(
  db: Database,
  definition: Definition,
  { refresher, jobs }: { readonly refresher: Refresher; readonly jobs: RefreshJobs },
  given: VerifyTurn,
): Promise<VerifiedTurn> {
  checkMembers("the last argument of verifyNext()", given, MEMBERS);
  const { after, tenants: limit = 100, jobs: queue, repair = false, signal } = given;
  if (!Number.isInteger(limit) || limit < 1 || limit > 10_000)
    throw refused("tenants must be a whole number from 1 to 10,000");
  const years = yearsOf(eachMonth(monthsOf(given, { bounded: true })));
  const deadline = maintenance(definition, "verifyNext()");
  const found = await explained(definition, () =>
    onConnection(db, deadline, (connection) => tenantsFrom(connection, definition, positionOf(after), limit)),
  );

  /** Returns the bucket if it differs and no refresh is pending, and recomputes it if `repair` is set; else undefined. */
  async function confirm(
    tx: Queryable,
    tenant: string | null,
    month: string,
  ): Promise<DriftedBucket | undefined> {
    const bucket = await refresher.lockMonth(tx, tenant, month);
    const drift = await compareRange(tx, definition, tenant, [month, month]);
    // Under the lock no change can be committed between these two statements.
    if (drift.length === 0) return undefined;
    if (queue !== undefined && (await jobs.isPending(queue, tx, bucket))) return undefined;
    if (repair) await refresher.recompute(tx, bucket);
    return { tenant, month, repaired: repair };
  }

  /** Adds what differs to `differences`, even if a later bucket cannot be compared. */
  async function compare(tenant: string | null, differences: DriftedBucket[]): Promise<void> {
    const found = new Set<string>();
    for (const months of years) {
      const drift = await asTenant(db, deadline, definition, tenant, (tx) =>
        compareRange(tx, definition, tenant, months),
      );
      for (const { month } of drift) found.add(month);
    }
    const differing = [...found];
    if (queue === undefined && !repair) {
      differences.push(...differing.map((month) => ({ tenant, month, repaired: false })));
      return;
    }
    for (const month of differing) {
      const bucket = await inOwnTransaction(tenant, month);
      if (bucket !== undefined) differences.push(bucket);
    }
  }

  async function inOwnTransaction(tenant: string | null, month: string): Promise<DriftedBucket | undefined> {
    try {
      // The transaction waits for writers of the bucket, so it has the shorter time limit of a refresh.
      const short = command(definition, "verifyNext()");
      return await asTenant(db, short, definition, tenant, (tx) => confirm(tx, tenant, month));
    } catch (error) {
      // A bucket with a group that is too long cannot be repaired, but other buckets can.
      if (error instanceof RollupError && error.code === "ERR_SVC_ROLLUP_GROUP")
        return { tenant, month, repaired: false, reason: error.message };
      throw error;
    }
  }

  const drift: DriftedBucket[] = [];
  const failed: FailedTenant[] = [];
  for (const [index, { tenant, position }] of found.tenants.entries()) {
    try {
      await explained(definition, () => compare(tenant, drift));
    } catch (error) {
      if (!isOfTenant(error)) throw error;
      failed.push({ tenant, reason: safeErrorText(error) });
    }
    if (signal?.aborted !== true || index + 1 === found.tenants.length) continue;
    return { tenants: index + 1 - failed.length, drift, failed, next: cursorOf(position) };
  }
  return { tenants: found.tenants.length - failed.length, drift, failed, next: found.next };
}

/** Returns the first and the last month of each span of twelve months. */
function yearsOf(months: readonly string[]): readonly [string, string][] {
  const years: [string, string][] = [];
  for (let at = 0; at < months.length; at += 12) {
    const [first = "", last = first] = [months[at], months[Math.min(at + 12, months.length) - 1]];
    years.push([first, last]);
  }
  return years;
}

/** Returns whether an error may concern only this tenant: a measure fails for its rows, or its bucket is locked. */
function isOfTenant(error: unknown): boolean {
  return !(error instanceof RollupError) && !isConnectionError(error);
}

interface Found {
  readonly tenants: readonly { readonly tenant: string | null; readonly position: Position }[];
  readonly next: string | undefined;
}

async function tenantsFrom(
  connection: Queryable,
  definition: Definition,
  begin: Position | undefined,
  limit: number,
): Promise<Found> {
  const { tenant: column, tenantTable } = definition;
  const first: Position = { phase: "rows", tenant: undefined };
  if (column === undefined) return { tenants: [{ tenant: null, position: first }], next: undefined };
  const isListed = tenantTable !== undefined;
  const facts = tenantFactsSql(definition, isListed);
  const [fact] = (await connection.query<{ secured: boolean; has_null: boolean }>(facts)).rows;
  if (fact?.secured === true) {
    throw new RollupError(
      "ERR_SVC_ROLLUP_TENANT",
      "row security hides tenants from this role: set source.tenantTable to a table that lists them, or use a role with BYPASSRLS",
    );
  }
  const tenants: { tenant: string | null; position: Position }[] =
    begin === undefined && fact?.has_null === true ? [{ tenant: null, position: first }] : [];
  let position: Position | undefined = begin ?? first;
  while (position !== undefined) {
    const room = limit - tenants.length;
    if (room <= 0) return { tenants, next: cursorOf(position) };
    const { phase }: Position = position;
    const rows = await readTenants(connection, definition, position, room);
    tenants.push(...rows.map((tenant) => ({ tenant, position: { phase, tenant } })));
    if (rows.length === room) position = { phase, tenant: rows.at(-1) };
    else position = phase === "rows" && !isListed ? { phase: "totals", tenant: undefined } : undefined;
  }
  return { tenants, next: undefined };
}

async function readTenants(
  connection: Queryable,
  definition: Definition,
  { phase, tenant: after }: Position,
  limit: number,
): Promise<readonly string[]> {
  const isFirst = after === undefined;
  const ofPhase = phase === "rows" ? sourceTenantsSql : totalsTenantsSql;
  const sqlOf = definition.tenantTable === undefined ? ofPhase : listedTenantsSql;
  const values = isFirst ? [limit] : [limit, after];
  const { rows } = await connection.query<{ tenant: string }>(sqlOf(definition, isFirst), values);
  return rows.map(({ tenant }) => tenant);
}

function cursorOf({ phase, tenant }: Position): string {
  return tenant === undefined ? phase : `${phase}/${tenant}`;
}

function positionOf(after: unknown): Position | undefined {
  if (after === undefined) return undefined;
  const [, phase, tenant] = /^(rows|totals)(?:\/([^]*))?$/.exec(typeof after === "string" ? after : "") ?? [];
  const known = PHASES.find((each) => each === phase);
  if (known === undefined) throw refused("after must be the next of an earlier call of verifyNext()");
  return { phase: known, tenant };
}
