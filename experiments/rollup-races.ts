import { openTestDatabase } from "@svc/dev-services";
import { createJobTable, createWorker, type JobHandler, type JobTable } from "@svc/job-table";
import { type Queryable, sqlStateOf, withTransaction } from "@svc/sql";
import { setTimeout as delay } from "node:timers/promises";
import { createRandom, type Random } from "./fuzz/random.ts";
import { asBuilt, type Experiment, type Run } from "./harness/experiment.ts";
import type { Report } from "./harness/report.ts";
import {
  type Books,
  CATEGORIES,
  type Comparison,
  MOMENTS,
  openBooks,
  type Refresh,
  type Bucket,
  TENANTS,
} from "./harness/rollup-books.ts";

const AT_ONCE = 10;
const WORKERS = 2;
const JOBS = "refreshes by jobs";
const INLINE = "refreshes in the same transaction";

/** Lets ten connections write rows and refresh totals concurrently. */
export const rollupRaces: Experiment = {
  name: "rollup-races",
  description: "after concurrent writes and refreshes, every bucket equals its rows",
  brokenVariants: ["broken-one-statement", "broken-one-side", "broken-swallowed-jobs"],
  async run(run, report) {
    const seed = run.seed ?? Math.floor(Math.random() * 2 ** 31);
    report.note(`seed ${seed}`);
    const { variant } = run;
    for (const mode of [INLINE, JOBS]) {
      if (variant === "broken-swallowed-jobs" && mode === INLINE) continue;
      if (variant === "broken-one-statement" && mode === JOBS) continue;
      await using database = await openTestDatabase({ name: "rollup-races" });
      await using books = await openBooks(database.url, AT_ONCE + 4, variant);
      const tally: Tally = {
        committed: 0,
        rolledBack: 0,
        inserted: 0,
        moved: 0,
        deleted: 0,
        refreshes: 0,
        lost: [],
      };
      const wave: Wave = { books, tally, run, seed };
      const compared = mode === INLINE ? await race(wave, books.refresh) : await raceByJobs(wave);
      reportFigures(mode, tally, compared, report);
    }
  },
};

/** Counts of transactions and row operations, and errors of the server. */
interface Tally {
  committed: number;
  rolledBack: number;
  inserted: number;
  /** Rows moved to another month, tenant or group. */
  moved: number;
  deleted: number;
  /** Number of bucket refreshes; a bucket counts twice when one transaction refreshes it twice. */
  refreshes: number;
  readonly lost: string[];
}

interface Wave {
  readonly books: Books;
  readonly tally: Tally;
  readonly run: Run;
  readonly seed: number;
}

/** Runs rounds of concurrent writers, and compares all buckets after each round. */
async function race(
  { books, tally, run, seed }: Wave,
  refresh: Refresh,
  settle: () => Promise<void> = async () => undefined,
): Promise<readonly Comparison[]> {
  const rounds = run.runs ?? (run.quick && run.variant === asBuilt ? 3 : 100);
  const each = run.quick ? 6 : 15;
  const compared: Comparison[] = [];
  // Stop at the first wrong bucket: further rounds would show nothing new.
  for (let round = 0; round < rounds && compared.every(({ wrong }) => wrong.length === 0); round++) {
    const writers = Array.from({ length: AT_ONCE }, async (_, n) => {
      const random = createRandom(seed + round * 1000 + n);
      for (let turn = 0; turn < each; turn++) await write({ books, tally, run, refresh, random });
    });
    await Promise.all(writers);
    await settle();
    compared.push(await books.compare());
    // Ten concurrent refreshes of one bucket, half of them without a new row.
    const random = createRandom(seed + round * 1000 + 999);
    const bucket = bucketOf(random);
    await Promise.all(
      Array.from({ length: AT_ONCE }, (_, n) =>
        inTransaction({ books, tally }, async (tx) => {
          if (n % 2 === 0) await insert(tx, bucket, random, tally);
          await refreshed(tx, [bucket], refresh, tally);
        }),
      ),
    );
    await settle();
    compared.push(await books.compare());
  }
  return compared;
}

/** Runs the same rounds, but the writers queue one job for each bucket, and workers refresh. */
async function raceByJobs(wave: Wave): Promise<readonly Comparison[]> {
  const { books, run } = wave;
  const table = createJobTable({ db: books.pool, name: "sales_jobs" });
  await table.ensureSchema();
  const handlers: Readonly<Record<string, JobHandler>> = {
    ...books.rollup.handlers(books.pool),
    once: (bucket) => withTransaction(books.pool, (tx) => books.refresh(tx, [bucket as Bucket])),
  };
  const workers = Array.from({ length: WORKERS }, () =>
    createWorker({ table, handlers, concurrency: 3, pollMs: 20 }),
  );
  for (const worker of workers) worker.start();
  const queue: Refresh = async (tx, buckets) => {
    for (const bucket of inOneOrder(buckets)) {
      if (run.variant === "broken-swallowed-jobs") await queueOnce(table, tx, bucket);
      else await books.rollup.enqueueRefresh(table, bucket, { tx });
    }
  };
  try {
    return await race(wave, queue, () => drained(table));
  } finally {
    for (const worker of workers) await worker.stop();
  }
}

/** Sorts buckets: enqueueing a job locks it until the commit, so writers with different orders would deadlock. */
function inOneOrder(buckets: readonly Bucket[]): readonly Bucket[] {
  const keyOf = ({ tenant, at }: Bucket): string => `${tenant ?? ""}/${new Date(at).toISOString()}`;
  return buckets.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

/**
 * Queues one job per bucket, with the bucket as its id. While an earlier job runs, which might not see the new rows, no
 * job is added: this is the variant's fault.
 */
async function queueOnce(table: JobTable, tx: Queryable, { tenant, at }: Bucket): Promise<void> {
  await table.enqueue(
    { id: `${tenant ?? ""}/${MOMENTS.indexOf(at)}`, task: "once", payload: { tenant, at } },
    { tx },
  );
}

async function drained(table: JobTable): Promise<void> {
  for (;;) {
    const { pending, running, dead } = await table.stats();
    if (dead > 0) throw new Error(`jobs are dead: ${(await table.dead(1))[0]?.lastError}`);
    if (pending + running === 0) return;
    await delay(10);
  }
}

interface Writer {
  readonly books: Books;
  readonly tally: Tally;
  readonly run: Run;
  readonly refresh: Refresh;
  readonly random: Random;
}

/** Runs one transaction that inserts, deletes or moves rows, and then refreshes all affected buckets. */
async function write({ books, tally, run, refresh, random }: Writer): Promise<void> {
  const kind = random.whole(10);
  const fails = random.chance(0.05);
  await inTransaction({ books, tally }, async (tx) => {
    let buckets: Bucket[] = [];
    if (kind < 3) {
      buckets = Array.from({ length: 1 + random.whole(3) }, () => bucketOf(random));
      for (const bucket of buckets) await insert(tx, bucket, random, tally);
    } else if (kind < 7) buckets = await move(tx, random, tally, run.variant === "broken-one-side");
    else if (kind < 9) buckets = await remove(tx, random, tally);
    // Refresh without a change.
    else buckets = [bucketOf(random)];
    if (random.chance(0.2)) buckets = [...buckets, ...buckets];
    await refreshed(tx, buckets, refresh, tally);
    if (fails) throw new Error(ON_PURPOSE);
  });
}

const ON_PURPOSE = "on purpose";

async function inTransaction(
  { books, tally }: Pick<Writer, "books" | "tally">,
  work: (tx: Queryable) => Promise<void>,
): Promise<void> {
  try {
    await withTransaction(books.pool, work);
    tally.committed += 1;
  } catch (error) {
    tally.rolledBack += 1;
    if (error instanceof Error && error.message === ON_PURPOSE) return;
    tally.lost.push(`${sqlStateOf(error) ?? ""} ${String(error)}`);
  }
}

async function refreshed(
  tx: Queryable,
  buckets: readonly Bucket[],
  refresh: Refresh,
  tally: Tally,
): Promise<void> {
  if (buckets.length === 0) return;
  await refresh(tx, buckets);
  tally.refreshes += buckets.length;
}

function bucketOf(random: Random): Bucket {
  return { tenant: random.pick(TENANTS), at: random.pick(MOMENTS) };
}

async function insert(tx: Queryable, { tenant, at }: Bucket, random: Random, tally: Tally): Promise<void> {
  await tx.query("insert into sales (tenant_id, at, category, amount) values ($1, $2, $3, $4)", [
    tenant,
    at,
    random.pick(CATEGORIES),
    amountOf(random),
  ]);
  tally.inserted += 1;
}

function amountOf(random: Random): string {
  return ((random.whole(200_000) - 50_000) / 100).toFixed(2);
}

interface Chosen extends Record<string, unknown> {
  readonly id: string;
  readonly tenant: string | null;
  readonly at: Date;
}

/** Returns rows that no other transaction has locked, and locks them. */
async function choose(tx: Queryable, random: Random): Promise<Chosen[]> {
  const { rows } = await tx.query<Chosen>(
    `select id, tenant_id as tenant, at from sales where id >= $1 * (select max(id) from sales) / 1000
     order by id limit $2 for update skip locked`,
    [random.whole(1000), 1 + random.whole(2)],
  );
  return rows;
}

async function move(tx: Queryable, random: Random, tally: Tally, newSideOnly: boolean): Promise<Bucket[]> {
  const buckets: Bucket[] = [];
  for (const { id, tenant, at } of await choose(tx, random)) {
    const old = { tenant, at: at.toISOString() };
    // Change the month, the tenant, both, or only the group.
    const next = {
      tenant: random.chance(0.5) ? random.pick(TENANTS) : tenant,
      at: random.chance(0.6) ? random.pick(MOMENTS) : old.at,
    };
    await tx.query("update sales set tenant_id = $2, at = $3, category = $4, amount = $5 where id = $1", [
      id,
      next.tenant,
      next.at,
      random.pick(CATEGORIES),
      amountOf(random),
    ]);
    tally.moved += 1;
    buckets.push(next);
    if (!newSideOnly) buckets.push(old);
  }
  return buckets;
}

async function remove(tx: Queryable, random: Random, tally: Tally): Promise<Bucket[]> {
  const chosen = await choose(tx, random);
  await tx.query("delete from sales where id = any($1::bigint[])", [chosen.map(({ id }) => id)]);
  tally.deleted += chosen.length;
  return chosen.map(({ tenant, at }) => ({ tenant, at: at.toISOString() }));
}

function reportFigures(mode: string, tally: Tally, compared: readonly Comparison[], report: Report): void {
  const buckets = compared.reduce((sum, each) => sum + each.buckets, 0);
  const wrong = compared.flatMap((each) => each.wrong);
  report.figure(mode, "transactions", tally.committed, "count");
  report.figure(mode, "rolled back", tally.rolledBack, "count");
  report.figure(mode, "rows inserted", tally.inserted, "count");
  report.figure(mode, "rows moved", tally.moved, "count");
  report.figure(mode, "rows deleted", tally.deleted, "count");
  report.figure(mode, "refreshes asked for", tally.refreshes, "count");
  report.figure(mode, "rounds compared", compared.length, "count");
  report.figure(mode, "buckets compared", buckets, "count");
  report.figure(mode, "buckets that are wrong", wrong.length, "count");
  report.rule(
    wrong.length === 0 && buckets > 0,
    `${mode}: every bucket equals its rows (${wrong.length} do not${wrong.length === 0 ? "" : `: ${wrong.slice(0, 3).join(", ")}`})`,
  );
  report.rule(
    tally.lost.length === 0,
    `${mode}: no transaction fails or deadlocks (${tally.lost.slice(0, 2).join("; ")})`,
  );
  report.rule(
    Math.min(tally.inserted, tally.moved, tally.deleted, tally.refreshes) > 0,
    `${mode}: there were inserts, moves, deletes and refreshes`,
  );
}
