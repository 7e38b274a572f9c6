import type { Queryable } from "@svc/sql";
import { checkMembers, instantOf, type Moment, tenantOf } from "./arguments.ts";
import { checkReadCommitted, inTransaction } from "./connection.ts";
import { explained, refused, RollupError } from "./errors.ts";
import type { Definition } from "./definition.ts";
import { type Bucket, type LockMode, lockSql, MAX_BUCKETS } from "./sql/lock.ts";
import { type Recomputed, recomputeSql } from "./sql/recompute.ts";

/** Result of a refresh. */
export interface Refreshed {
  /** First day of the local month, `YYYY-MM-DD`. */
  readonly month: string;
  /** Number of totals rows inserted or updated. */
  readonly written: number;
  /** Number of totals rows deleted because their group no longer has any source rows. */
  readonly removed: number;
}

/** Result for one bucket of a refresh of several buckets. */
export interface RefreshedBucket extends Refreshed {
  readonly tenant: string | null;
}

/** The operations of a rollup on buckets, with statements that are built once. */
export interface Refresher {
  /** Refreshes each bucket once. Returns the results in the order in which the buckets were locked. */
  refresh(tx: Queryable, moments: readonly Moment[]): Promise<RefreshedBucket[]>;
  /** Locks buckets in the order of tenant and month, without recomputing them. @throws RollupError */
  lock(tx: Queryable, moments: readonly Moment[], mode: LockMode): Promise<Bucket[]>;
  /** Locks the bucket of a month, given the first day of the month. @throws RollupError */
  lockMonth(tx: Queryable, tenant: string | null, month: string): Promise<Bucket>;
  /** Recomputes a locked bucket. @throws RollupError */
  recompute(tx: Queryable, bucket: Bucket): Promise<RefreshedBucket>;
}

const MAX_MOMENTS = 10_000;

export function createRefresher(definition: Definition): Refresher {
  const lockTexts: Record<LockMode, string> = {
    refresh: lockSql(definition, "refresh", "instants"),
    queue: lockSql(definition, "queue", "instants"),
  };
  const lockMonthText = lockSql(definition, "refresh", "months");
  const ofTenant = recomputeSql(definition, true);
  const withoutTenant = recomputeSql(definition, false);

  async function lock(tx: Queryable, moments: readonly Moment[], mode: LockMode): Promise<Bucket[]> {
    if (!Array.isArray(moments) || moments.length > MAX_MOMENTS) {
      throw refused(`the moments must be a list of at most ${MAX_MOMENTS} moments`);
    }
    const checked = moments.map((moment) => {
      checkMembers("a moment", moment, ["tenant", "at"]);
      return { tenant: tenantOf(definition, moment.tenant), at: instantOf(moment.at) };
    });
    if (checked.length === 0) return [];
    const tenants = checked.map(({ tenant }) => tenant);
    const instants = checked.map(({ at }) => at);
    const buckets = await send(tx, lockTexts[mode], [tenants, instants]);
    if (buckets.length > MAX_BUCKETS)
      throw refused(`the call covers more than ${MAX_BUCKETS} buckets; split it`);
    if (mode === "refresh") checkReadCommitted(buckets[0]);
    return buckets;
  }

  async function lockMonth(tx: Queryable, tenant: string | null, month: string): Promise<Bucket> {
    const [bucket] = await send(tx, lockMonthText, [[tenant], [month]]);
    checkReadCommitted(bucket);
    return bucket;
  }

  const send = async (tx: Queryable, text: string, values: unknown[]): Promise<Bucket[]> =>
    (await explained(definition, () => tx.query<Bucket>(text, values))).rows;

  async function recompute(tx: Queryable, { tenant, month, from_s, to_s }: Bucket): Promise<RefreshedBucket> {
    const values = [month, from_s, to_s, definition.setting ?? null, ...(tenant === null ? [] : [tenant])];
    const { rows } = await explained(definition, () =>
      tx.query<Recomputed>(tenant === null ? withoutTenant : ofTenant, values),
    );
    const [answer] = rows;
    checkAnswer(definition, tenant, answer);
    return { tenant, month, written: answer.written, removed: answer.removed };
  }

  return {
    lock,
    lockMonth,
    recompute,
    async refresh(given, moments) {
      const tx = inTransaction(definition, "refresh()", given);
      const done: RefreshedBucket[] = [];
      for (const bucket of await lock(tx, moments, "refresh")) done.push(await recompute(tx, bucket));
      return done;
    },
  };
}

/**
 * Checks the result of a recompute.
 * @throws RollupError with the reason if a check failed; the recompute then changed nothing
 */
export function checkAnswer(
  definition: Definition,
  tenant: string | null | undefined,
  answer: Recomputed | undefined,
): asserts answer is Recomputed {
  if (answer?.locked !== true) {
    throw new RollupError(
      "ERR_SVC_ROLLUP_TRANSACTION",
      "no transaction is open: begin one or use withTransaction(), because without one a lock ends with its statement",
    );
  }
  checkZoneOf(definition, answer.zone);
  checkSecured(answer, tenant);
  if (answer.too_long === null) return;
  const group = definition.groups.find(({ name }) => name === answer.too_long);
  throw new RollupError(
    "ERR_SVC_ROLLUP_GROUP",
    `a value of ${answer.too_long} is longer than ${group?.length ?? 255} characters: make its column longer, or set tooLong: "cut"`,
  );
}

/**
 * Checks the time zone that is stored for the totals.
 * @throws RollupError `ERR_SVC_ROLLUP_ZONE`, `ERR_SVC_ROLLUP_SCHEMA`
 */
export function checkZoneOf({ name, zone }: Definition, stored: string | null): void {
  if (stored === null) {
    throw new RollupError(
      "ERR_SVC_ROLLUP_SCHEMA",
      `the rollup ${name} has no tables yet: call ensureSchema()`,
    );
  }
  if (stored.toLowerCase() === zone.toLowerCase()) return;
  throw new RollupError(
    "ERR_SVC_ROLLUP_ZONE",
    `the totals of ${name} use months in ${stored}, not in ${zone}: call rebuildAll() once`,
  );
}

/**
 * Checks that row security hides no row of the tenant; `tenant` is undefined for a call over all tenants.
 * @throws RollupError `ERR_SVC_ROLLUP_TENANT`
 */
export function checkSecured(
  answer: Pick<Recomputed, "secured" | "as_tenant">,
  tenant: string | null | undefined,
): void {
  if (!answer.secured || (tenant !== undefined && tenant !== null && answer.as_tenant === tenant)) return;
  throw new RollupError(
    "ERR_SVC_ROLLUP_TENANT",
    tenant === undefined
      ? "row security hides rows from this role: use a role with BYPASSRLS to process all tenants together"
      : "row security is on and the transaction is not scoped to this tenant: use withTenant(), or a role with BYPASSRLS",
  );
}
