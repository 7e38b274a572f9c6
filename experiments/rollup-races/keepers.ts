import { createService, type Service } from "@svc/express";
import { createJobTable, createWorker, type JobTable } from "@svc/job-table";
import { type BoundRollup, defineRollup, type Rollup } from "@svc/rollups";
import { type Queryable, type Row, withTransaction } from "@svc/sql";
import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { type Bucket, LIVE, MOMENTS, ZONE } from "./books.ts";

/** Number of workers, or of replicas of the service, that refresh totals. */
const WORKERS = 2;
const JOBS_AT_ONCE = 3;
const POLL_MS = 20;
/** Task of the jobs of `broken-swallowed-jobs`. */
const ONCE = "once";

/** Updates the totals of the sales. */
export interface Keeper extends AsyncDisposable {
  /** Refreshes the totals of the buckets within the caller's transaction, or queues jobs in it. */
  touched(tx: Queryable, buckets: readonly Bucket[]): Promise<void>;
  /** Waits until no job is queued or running. */
  settle(): Promise<void>;
}

export interface KeeperOptions {
  /** Whether totals are refreshed in the transaction that writes the rows, or by jobs. */
  readonly refresh: "inline" | "job";
  readonly variant: string;
}

/** The ways to update the totals: with the package alone, or through a service with the plugin. */
export const keepers: Readonly<Record<string, (pool: pg.Pool, options: KeeperOptions) => Promise<Keeper>>> = {
  package: keepByPackage,
  plugin: keepByPlugin,
};

function defineMonthly(): Rollup {
  return defineRollup({
    name: "sales_monthly",
    source: { table: "sales", tenantColumn: "tenant_id", timeColumn: "at" },
    groupBy: { category: { column: "category" } },
    measures: {
      total: { sql: "sum(amount)", type: "numeric(14, 2)" },
      n: { sql: "count(*)", type: "bigint" },
      least: { sql: "min(amount)", type: "numeric(12, 2)" },
      most: { sql: "max(amount)", type: "numeric(12, 2)" },
    },
    timeZone: ZONE,
  });
}

async function keepByPackage(pool: pg.Pool, { refresh, variant }: KeeperOptions): Promise<Keeper> {
  const rollup = defineMonthly();
  await rollup.ensureSchema(pool);
  // If the table is empty, this stores no totals and therefore no time zone.
  await rollup.rebuildAll(pool);
  const refreshMany: Keeper["touched"] = async (tx, buckets) => void (await rollup.refreshMany(tx, buckets));
  if (refresh === "inline") {
    return {
      touched: variant === "broken-one-statement" ? inOneStatement : refreshMany,
      settle: async () => undefined,
      [Symbol.asyncDispose]: async () => undefined,
    };
  }
  const table = createJobTable({ db: pool, name: "sales_jobs" });
  await table.ensureSchema();
  const handlers = {
    ...rollup.handlers(pool),
    [ONCE]: (bucket: unknown) => withTransaction(pool, (tx) => refreshMany(tx, [bucket as Bucket])),
  };
  const workers = Array.from({ length: WORKERS }, () =>
    createWorker({ table, handlers, concurrency: JOBS_AT_ONCE, pollMs: POLL_MS }),
  );
  for (const worker of workers) worker.start();
  return {
    async touched(tx, buckets) {
      if (variant === "broken-swallowed-jobs") return queueOnce(table, tx, buckets);
      for (const bucket of inOneOrder(buckets)) await rollup.enqueueRefresh(table, bucket, { tx });
    },
    settle: () => drained(table),
    async [Symbol.asyncDispose]() {
      for (const worker of workers) await worker.stop();
    },
  };
}

async function keepByPlugin(pool: pg.Pool, { refresh, variant }: KeeperOptions): Promise<Keeper> {
  await using made = new AsyncDisposableStack();
  const replicas: Service[] = [];
  for (let replica = 0; replica < WORKERS; replica++) {
    const service = made.use(await createReplica(pool, refresh));
    await service.start();
    replicas.push(service);
  }
  const rollups = replicas.map(monthlyOf);
  await rollups[0]?.rebuildAll();
  const jobs = replicas[0]?.jobs;
  const running = made.move();
  let calls = 0;
  return {
    async touched(tx, buckets) {
      if (jobs !== undefined && variant === "broken-swallowed-jobs") return queueOnce(jobs, tx, buckets);
      const rollup = rollups[calls++ % rollups.length];
      await rollup?.touchedMany(variant === "broken-one-statement" ? withoutLocks(tx) : tx, buckets);
    },
    settle: async () => jobs && drained(jobs),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

function createReplica(pool: pg.Pool, refresh: KeeperOptions["refresh"]): Promise<Service> {
  const hasJobs = refresh === "job";
  return createService({
    config: {
      toml: `
[service]
name = "sales"
env = "local"
port = 0
[logging]
level = "error"
[plugins]
enabled = [${hasJobs ? '"queue", ' : ""}"rollups"]
[plugin.queue]
name = "sales_jobs"
concurrency = ${JOBS_AT_ONCE}
poll = ${POLL_MS / 1000}
[plugin.rollups]
refresh = "${refresh}"`,
    },
    env: {},
    signals: false,
    db: pool,
    rollups: { monthly: defineMonthly() },
    jobs: hasJobs
      ? {
          [ONCE]: (bucket, _job, service) =>
            withTransaction(pool, (tx) => monthlyOf(service).refreshMany(tx, [bucket as Bucket])),
        }
      : undefined,
    logDestination: { write: () => undefined },
  });
}

function monthlyOf({ rollups }: Service): BoundRollup {
  const monthly = rollups?.["monthly"];
  if (monthly === undefined) throw new Error("the service has no rollup");
  return monthly;
}

async function drained(table: JobTable): Promise<void> {
  for (;;) {
    const { pending, running, dead } = await table.stats();
    if (dead > 0) throw new Error(`jobs are dead: ${(await table.dead(1))[0]?.lastError}`);
    if (pending + running === 0) return;
    await delay(10);
  }
}

/** Sorts buckets: enqueueing a job locks it until the commit, so writers with different orders would deadlock. */
function inOneOrder(buckets: readonly Bucket[]): readonly Bucket[] {
  const keyOf = ({ tenant, at }: Bucket): string => `${tenant ?? ""}/${new Date(at).toISOString()}`;
  return buckets.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

/**
 * Queues one job per bucket, with the bucket as its id. While an earlier job runs, which might not see the new rows, no
 * job is added: the fault of `broken-swallowed-jobs`.
 */
async function queueOnce(table: JobTable, tx: Queryable, buckets: readonly Bucket[]): Promise<void> {
  for (const { tenant, at } of inOneOrder(buckets)) {
    const id = `${tenant ?? ""}/${MOMENTS.indexOf(at)}`;
    await table.enqueue({ id, task: ONCE, payload: { tenant, at } }, { tx });
  }
}

/** Omits the locks from all statements: the fault of `broken-one-statement` in a service, whose lock is a statement. */
function withoutLocks(tx: Queryable): Queryable {
  return {
    query<R extends Row>(text: string, values?: unknown[]) {
      const without = text.replaceAll(/pg_advisory_xact_lock(?:_shared)?\(/g, "coalesce(");
      if (without === text && /lock\w*\(/.test(text))
        throw new Error(`the variant does not know this lock: ${text}`);
      return tx.query<R>(without, values);
    },
  };
}

/**
 * Takes the lock in the statement that computes the totals, whose snapshot is older than the lock: the fault of
 * `broken-one-statement`.
 */
async function inOneStatement(tx: Queryable, buckets: readonly Bucket[]): Promise<void> {
  const { rows } = await tx.query<{ tenant: string | null; month: string }>(
    `select distinct tenant, date_trunc('month', at at time zone '${ZONE}')::date::text as month
     from unnest($1::text[], $2::timestamptz[]) as buckets(tenant, at) order by 1 nulls first, 2`,
    [buckets.map(({ tenant }) => tenant), buckets.map(({ at }) => at)],
  );
  for (const { tenant, month } of rows) {
    await tx.query(
      `with locked as materialized (select pg_advisory_xact_lock(hashtext(concat_ws('/', $1::text, $2::text)))),
         fresh as materialized (
           select live.* from locked, (${LIVE}) as live
           where tenant_id is not distinct from $1::text and month = $2::date
         ), gone as (
           delete from sales_monthly as kept where tenant_id is not distinct from $1::text and month = $2::date
             and (select count(*) from locked) = 1
             and not exists (select from fresh where fresh.category is not distinct from kept.category)
         )
       insert into sales_monthly (tenant_id, month, category, total, n, least, most) select * from fresh
       on conflict (tenant_id, month, category)
       do update set total = excluded.total, n = excluded.n, least = excluded.least, most = excluded.most`,
      [tenant, month],
    );
  }
}
