import { defineOptions, kinds as k, namesOf, optionError, type OptionsOf } from "@svc/options";
import { databaseKind, type Queryable } from "@svc/sql";
import type { Moment, TenantDates } from "./arguments.ts";
import type { RefreshQueue } from "./jobs.ts";
import type { RollupQuery, Total } from "./query.ts";
import type { Rebuilt } from "./rebuild.ts";
import { definitionOf, type Rollup } from "./rollup.ts";
import type { Verified } from "./verify.ts";
import type { VerifiedTurn, VerifyTurn } from "./verify-next.ts";

type Queued = { readonly id: string; readonly enqueued: boolean };

/** A rollup whose calls use one database and one queue. */
export interface BoundRollup extends Pick<
  Rollup,
  "name" | "table" | "timeZone" | "refresh" | "refreshMany" | "ddl" | "migrations"
> {
  /** Refreshes the bucket of a changed row: in the transaction, or by a job if `refresh` is `job`. */
  touched(tx: Queryable, moment: Moment): Promise<void>;
  /** Does the same for up to 10,000 instants in up to 1,000 buckets. */
  touchedMany(tx: Queryable, moments: readonly Moment[]): Promise<void>;
  /** Queues a refresh in the transaction that writes the rows. @throws ConfigurationError without a queue */
  refreshLater(tx: Queryable, moment: Moment): Promise<Queued>;
  /** Does the same for up to 10,000 instants in up to 1,000 buckets. */
  refreshLaterMany(tx: Queryable, moments: readonly Moment[]): Promise<readonly Queued[]>;
  /** Like `Rollup.query()`. `tx` is a transaction of the tenant, for tables with row security. Default: the database. */
  query(tenant: Moment["tenant"], query: RollupQuery, tx?: Queryable): Promise<Total[]>;
  rebuild(range: TenantDates): Promise<Rebuilt>;
  rebuildAll(): Promise<Omit<Rebuilt, "months">>;
  verify(range: TenantDates): Promise<Verified>;
  verifyNext(turn: VerifyTurn): Promise<VerifiedTurn>;
  ensureSchema(): Promise<"present" | "created">;
}

/** The kind of a queue for refreshes. */
export const queueKind: k.Kind<RefreshQueue> = k.objectWith<RefreshQueue>("a job table", "enqueue");

export const boundRollupOptions = defineOptions("bindRollup()", {
  /** A pool, or a database of `@svc/database`. Required. */
  db: { kind: databaseKind },
  /** Queue of the refreshes. Default: none; `refreshLater()` then throws. */
  jobs: { kind: k.optional(queueKind) },
  /** How `touched()` refreshes: `inline` in the transaction, or by a `job`. Default: `inline`. */
  refresh: { kind: k.withDefault(k.oneOf("inline", "job"), "inline") },
});

/** Options of {@link bindRollup}. */
export type BoundRollupOptions = OptionsOf<typeof boundRollupOptions>;

/**
 * Returns a rollup whose calls use the given database and queue.
 *
 * @throws ConfigurationError for `refresh: "job"` without `jobs`, and for a value that is not from `defineRollup()`
 */
export function bindRollup(rollup: Rollup, given: BoundRollupOptions): BoundRollup {
  const { db, jobs, refresh } = boundRollupOptions.resolve(given);
  const names = namesOf(given, boundRollupOptions.subject);
  if (definitionOf(rollup) === undefined)
    throw optionError(names, "rollup", "must be a rollup returned by defineRollup()");
  if (refresh === "job" && jobs === undefined)
    throw optionError(names, "refresh", `is "job", which needs a queue; pass ${names.of("jobs")}`);

  function queue(): RefreshQueue {
    if (jobs !== undefined) return jobs;
    throw optionError(names, "jobs", "is required by refreshLater()");
  }

  const bound: BoundRollup = {
    name: rollup.name,
    table: rollup.table,
    timeZone: rollup.timeZone,
    ddl: () => rollup.ddl(),
    migrations: () => rollup.migrations(),
    refresh: (tx, moment) => rollup.refresh(tx, moment),
    refreshMany: (tx, moments) => rollup.refreshMany(tx, moments),
    async touched(tx, moment) {
      await (refresh === "job" ? bound.refreshLater(tx, moment) : rollup.refresh(tx, moment));
    },
    async touchedMany(tx, moments) {
      await (refresh === "job" ? bound.refreshLaterMany(tx, moments) : rollup.refreshMany(tx, moments));
    },
    refreshLater: async (tx, moment) => rollup.enqueueRefresh(queue(), moment, { tx }),
    refreshLaterMany: async (tx, moments) => rollup.enqueueRefreshMany(queue(), moments, { tx }),
    query: (tenant, query, tx) => rollup.query(tx ?? db, tenant, query),
    rebuild: (range) => rollup.rebuild(db, range),
    rebuildAll: () => rollup.rebuildAll(db),
    verify: (range) => rollup.verify(db, range),
    verifyNext: (turn) => rollup.verifyNext(db, turn),
    ensureSchema: () => rollup.ensureSchema(db),
  };
  return bound;
}
