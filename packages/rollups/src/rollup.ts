import type { Database, Migration, Queryable } from "@svc/sql";
import type { Moment, TenantDates } from "./arguments.ts";
import {
  createRefreshJobs,
  type EnqueueOptions,
  type RefreshHandler,
  type RefreshQueue,
  taskOf,
} from "./jobs.ts";
import type { RollupOptions } from "./options.ts";
import { resolveRollup } from "./resolve-rollup.ts";
import { queryTotals, type RollupQuery, type Total } from "./query.ts";
import { rebuildEverything, rebuildRange, type Rebuilt } from "./rebuild.ts";
import { createRefresher, type Refreshed, type RefreshedBucket } from "./refresh.ts";
import { ddlOf, ensureRollup, migrationsOf } from "./schema.ts";
import type { Definition } from "./definition.ts";
import { type Verified, verifyRange } from "./verify.ts";
import { type VerifiedTurn, type VerifyTurn, verifyTurn } from "./verify-next.ts";

/**
 * Monthly totals, by local month, that always equal the sums of their source rows. Errors of the server are passed on
 * unchanged.
 */
export interface Rollup {
  readonly name: string;
  readonly table: string;
  readonly timeZone: string;
  /** Returns the schema as one SQL script, with the recommended source index as a comment. */
  ddl(): string;
  /**
   * Creates the missing tables (ROLL-1, ROLL-6).
   *
   * @throws SchemaError for existing tables that differ; RollupError `_SCHEMA`, `_ZONE`
   */
  ensureSchema(db: Database): Promise<"present" | "created">;
  /** Returns the schema as migrations for a migration tool. */
  migrations(): readonly Migration[];
  /**
   * Recomputes the bucket of an instant, in the caller's READ COMMITTED transaction; call it after writing the rows (ROLL-2,
   * ROLL-3, ROLL-5). Writes only what differs.
   *
   * @throws RollupError `_ARGUMENT`, `_TRANSACTION`, `_TENANT`, `_GROUP`, `_ZONE`, `_SCHEMA`
   */
  refresh(tx: Queryable, moment: Moment): Promise<Refreshed>;
  /**
   * Recomputes the buckets of up to 10,000 instants, which may belong to up to 1,000 buckets. Locks all buckets in one
   * order, then recomputes each one once. For a row whose time changed, pass its old and its new time.
   */
  refreshMany(tx: Queryable, moments: readonly Moment[]): Promise<readonly RefreshedBucket[]>;
  /** Recomputes up to 1,200 months of a tenant, each in its own transaction (ROLL-5, ROLL-7). */
  rebuild(db: Database, range: TenantDates): Promise<Rebuilt>;
  /** Recomputes all buckets in one transaction, while refreshes wait. Required after a change of the time zone. */
  rebuildAll(db: Database): Promise<Omit<Rebuilt, "months">>;
  /** Compares totals with their source rows in both directions, and checks for the source index. Changes nothing. */
  verify(db: Database, range: TenantDates): Promise<Verified>;
  /**
   * Compares the months of the next tenants, 100 by default, each in its own transaction. Call it again with `after: next`
   * until `next` is undefined.
   *
   * @throws RollupError `_ARGUMENT`, `_TENANT`, `_ZONE`, `_SCHEMA`
   */
  verifyNext(db: Database, turn: VerifyTurn): Promise<VerifiedTurn>;
  /** Returns totals ordered by month and groups. Combines measures over the columns that `by` omits. */
  query(db: Database, tenant: Moment["tenant"], query: RollupQuery): Promise<Total[]>;
  /** Queues a refresh in the transaction that writes the rows; a bucket has at most one pending job. */
  enqueueRefresh(
    jobs: RefreshQueue,
    moment: Moment,
    options?: EnqueueOptions,
  ): Promise<{ id: string; enqueued: boolean }>;
  /** Queues refreshes for several instants, one per bucket, in an order that prevents deadlocks between callers. */
  enqueueRefreshMany(
    jobs: RefreshQueue,
    moments: readonly Moment[],
    options: Required<EnqueueOptions>,
  ): Promise<readonly { id: string; enqueued: boolean }[]>;
  /** Returns the handlers of refresh jobs, for a worker of `@svc/job-table`. */
  handlers(db: Database): Record<string, RefreshHandler>;
}

/**
 * Defines a rollup, without sending any statement.
 *
 * @throws ConfigurationError
 */
export function defineRollup(given: RollupOptions): Rollup {
  const definition = resolveRollup(given);
  const refresher = createRefresher(definition);
  const jobs = createRefreshJobs(definition, refresher);
  const rollup: Rollup = {
    name: definition.name,
    table: definition.givenTable,
    timeZone: definition.zone,
    ddl: () => ddlOf(definition),
    ensureSchema: (db) => ensureRollup(db, definition),
    migrations: () => migrationsOf(definition),
    async refresh(tx, moment) {
      const [done] = await refresher.refresh(tx, [moment]);
      const { month, written, removed } = done as RefreshedBucket;
      return { month, written, removed };
    },
    refreshMany: (tx, moments) => refresher.refresh(tx, moments),
    rebuild: (db, range) => rebuildRange(db, definition, refresher, range),
    rebuildAll: (db) => rebuildEverything(db, definition),
    verify: (db, range) => verifyRange(db, definition, range),
    verifyNext: (db, turn) => verifyTurn(db, definition, { refresher, jobs }, turn),
    query: (db, tenant, query) => queryTotals(db, definition, tenant, query),
    enqueueRefresh: (queue, moment, options) => jobs.enqueue(queue, moment, options),
    enqueueRefreshMany: (queue, moments, options) => jobs.enqueueMany(queue, moments, options),
    handlers: (db) => ({ [taskOf(definition)]: (payload, job) => jobs.handle(db, payload, job) }),
  };
  definitions.set(rollup, definition);
  return rollup;
}

const definitions = new WeakMap<object, Definition>();

/** Returns the definition of a rollup; undefined for any other value. */
export function definitionOf(rollup: unknown): Definition | undefined {
  return typeof rollup === "object" && rollup !== null ? definitions.get(rollup) : undefined;
}
