import type { Database, Queryable } from "@svc/sql";
import type { Moment, TenantDates } from "./arguments.ts";
import {
  createRefreshJobs,
  type EnqueueOptions,
  type RefreshHandler,
  type RefreshQueue,
  taskOf,
} from "./jobs.ts";
import { resolveRollup, type RollupOptions } from "./options.ts";
import { queryTotals, type RollupQuery, type Total } from "./query.ts";
import { rebuildEverything, rebuildRange, type Rebuilt } from "./rebuild.ts";
import { createRefresher, type Refreshed, type RefreshedBucket } from "./refresh.ts";
import { ddlOf, ensureRollup, type Migration, migrationsOf } from "./schema.ts";
import { type Verified, verifyRange } from "./verify.ts";

/** Totals of local months that always equal their rows. Errors of the server are passed on as they are. */
export interface Rollup {
  readonly name: string;
  readonly table: string;
  readonly timeZone: string;
  /** The schema as one text, with the index that the source needs as a comment. */
  ddl(): string;
  /**
   * Makes what is missing of the tables (ROLL-1, ROLL-6).
   *
   * @throws SchemaError for tables that are other ones; RollupError `_SCHEMA`, `_ZONE`
   */
  ensureSchema(db: Database): Promise<"present" | "created">;
  /** The same for a migration tool. */
  migrations(): readonly Migration[];
  /**
   * Computes the bucket of a moment anew, in the caller's READ COMMITTED transaction and after the rows were written (ROLL-2,
   * ROLL-3, ROLL-5). Nothing is written where nothing has changed.
   *
   * @throws RollupError `_ARGUMENT`, `_TRANSACTION`, `_TENANT`, `_GROUP`, `_ZONE`, `_SCHEMA`
   */
  refresh(tx: Queryable, moment: Moment): Promise<Refreshed>;
  /**
   * The same for several moments, up to 10,000 in up to 1,000 buckets: each bucket once, all locked in one order before the
   * first is computed. For a row that moved, its old and its new moment.
   */
  refreshMany(tx: Queryable, moments: readonly Moment[]): Promise<readonly RefreshedBucket[]>;
  /** Computes months of a tenant anew, each in a transaction of its own (ROLL-5, ROLL-7), up to 1,200. */
  rebuild(db: Database, range: TenantDates): Promise<Rebuilt>;
  /** Computes everything anew in one transaction; also what a change of zone takes. No refresh runs beside it. */
  rebuildAll(db: Database): Promise<Omit<Rebuilt, "months">>;
  /** Compares totals with their rows, both ways, and looks for the index of the source. Changes nothing. */
  verify(db: Database, range: TenantDates): Promise<Verified>;
  /** Totals in the order of month and groups. Measures are added up over what `by` leaves out. */
  query(db: Database, tenant: Moment["tenant"], query: RollupQuery): Promise<Total[]>;
  /** Queues a refresh in the transaction that writes the rows; one job per bucket is pending. */
  enqueueRefresh(
    jobs: RefreshQueue,
    moment: Moment,
    options?: EnqueueOptions,
  ): Promise<{ id: string; enqueued: boolean }>;
  /** The same for several moments, each bucket once, in an order in which no two callers wait for each other in a ring. */
  enqueueRefreshMany(
    jobs: RefreshQueue,
    moments: readonly Moment[],
    options: Required<EnqueueOptions>,
  ): Promise<readonly { id: string; enqueued: boolean }[]>;
  /** Handlers of those jobs, for a worker of `@svc/job-table`. */
  handlers(db: Database): Record<string, RefreshHandler>;
}

/**
 * Defines totals. Nothing is sent.
 *
 * @throws ConfigurationError
 */
export function defineRollup(given: RollupOptions): Rollup {
  const definition = resolveRollup(given);
  const refresher = createRefresher(definition);
  const jobs = createRefreshJobs(definition, refresher);
  return {
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
    query: (db, tenant, query) => queryTotals(db, definition, tenant, query),
    enqueueRefresh: (queue, moment, options) => jobs.enqueue(queue, moment, options),
    enqueueRefreshMany: (queue, moments, options) => jobs.enqueueMany(queue, moments, options),
    handlers: (db) => ({ [taskOf(definition)]: (payload, job) => jobs.handle(db, payload, job) }),
  };
}
