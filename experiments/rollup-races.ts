import { openTestDatabase } from "@svc/dev-services";
import { type Queryable, sqlStateOf, withTransaction } from "@svc/sql";
import { createRandom, type Random } from "./fuzz/random.ts";
import { asBuilt, type Experiment, type Run } from "./harness/experiment.ts";
import type { Report } from "./harness/report.ts";
import {
  type Books,
  type Bucket,
  CATEGORIES,
  type Comparison,
  MOMENTS,
  openBooks,
  TENANTS,
} from "./rollup-races/books.ts";
import { type Keeper, type KeeperOptions, keepers } from "./rollup-races/keepers.ts";

const AT_ONCE = 10;
const REFRESHES: readonly KeeperOptions["refresh"][] = ["inline", "job"];

/** The broken variants, and the refreshes that have their fault. */
const onlyIn: Readonly<Record<string, readonly KeeperOptions["refresh"][]>> = {
  "broken-one-statement": ["inline"],
  "broken-one-side": REFRESHES,
  "broken-swallowed-jobs": ["job"],
};

/** Lets ten connections write rows and refresh totals concurrently. */
export const rollupRaces: Experiment = {
  name: "rollup-races",
  description: "after concurrent writes and refreshes, every bucket equals its rows",
  brokenVariants: Object.keys(onlyIn),
  parts: Object.keys(keepers),
  async run(run, report) {
    const seed = run.seed ?? Math.floor(Math.random() * 2 ** 31);
    report.note(`seed ${seed}`);
    const { variant, only } = run;
    const refreshes = onlyIn[variant] ?? REFRESHES;
    await using database = await openTestDatabase({ name: "rollup-races" });
    for (const [part, keep] of Object.entries(keepers)) {
      if (only !== undefined && only !== part) continue;
      for (const refresh of refreshes) {
        const schema = `${part}_${refresh}`;
        await using books = await openBooks(database.url, { schema, connections: AT_ONCE + 4 });
        await using keeper = await keep(books.pool, { refresh, variant });
        const tally: Tally = {
          committed: 0,
          rolledBack: 0,
          inserted: 0,
          moved: 0,
          deleted: 0,
          refreshes: 0,
          lost: [],
        };
        const compared = await race({ books, keeper, tally, run, seed });
        reportFigures(`${part}, ${refresh}`, tally, compared, report);
      }
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
  readonly keeper: Keeper;
  readonly tally: Tally;
  readonly run: Run;
  readonly seed: number;
}

/** Runs rounds of concurrent writers, and checks all buckets after each round. */
async function race({ books, keeper, tally, run, seed }: Wave): Promise<readonly Comparison[]> {
  const rounds = run.runs ?? (run.quick && run.variant === asBuilt ? 2 : 100);
  const each = run.quick ? 6 : 15;
  const compared: Comparison[] = [];
  // Stop at the first wrong bucket, because further rounds would show nothing new.
  for (let round = 0; round < rounds && compared.every(({ wrong }) => wrong.length === 0); round++) {
    const writers = Array.from({ length: AT_ONCE }, async (_, n) => {
      const random = createRandom(seed + round * 1000 + n);
      for (let turn = 0; turn < each; turn++) await write({ books, keeper, tally, run, random });
    });
    await Promise.all(writers);
    await keeper.settle();
    compared.push(await books.compare());
    // Ten concurrent refreshes of one bucket, half of them without a new row.
    const random = createRandom(seed + round * 1000 + 999);
    const bucket = bucketOf(random);
    await Promise.all(
      Array.from({ length: AT_ONCE }, (_, n) =>
        inTransaction({ books, tally }, async (tx) => {
          if (n % 2 === 0) await insert(tx, bucket, random, tally);
          await refreshed(tx, [bucket], keeper, tally);
        }),
      ),
    );
    await keeper.settle();
    compared.push(await books.compare());
  }
  return compared;
}

interface Writer {
  readonly books: Books;
  readonly keeper: Keeper;
  readonly tally: Tally;
  readonly run: Run;
  readonly random: Random;
}

/** Runs one transaction that inserts, deletes or moves rows, and then refreshes all affected buckets. */
async function write({ books, keeper, tally, run, random }: Writer): Promise<void> {
  const kind = random.whole(10);
  const fails = random.chance(0.05);
  await inTransaction({ books, tally }, async (tx) => {
    let buckets: Bucket[] = [];
    if (kind < 3) {
      buckets = Array.from({ length: 1 + random.whole(3) }, () => bucketOf(random));
      for (const bucket of buckets) await insert(tx, bucket, random, tally);
    } else if (kind < 7) buckets = await move(tx, random, tally, run.variant === "broken-one-side");
    else if (kind < 9) buckets = await remove(tx, random, tally);
    // This refresh follows no change.
    else buckets = [bucketOf(random)];
    if (random.chance(0.2)) buckets = [...buckets, ...buckets];
    await refreshed(tx, buckets, keeper, tally);
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
  keeper: Keeper,
  tally: Tally,
): Promise<void> {
  if (buckets.length === 0) return;
  await keeper.touched(tx, buckets);
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

function reportFigures(name: string, tally: Tally, compared: readonly Comparison[], report: Report): void {
  const buckets = compared.reduce((sum, each) => sum + each.buckets, 0);
  const wrong = compared.flatMap((each) => each.wrong);
  report.figure(name, "transactions", tally.committed, "count");
  report.figure(name, "rolled back", tally.rolledBack, "count");
  report.figure(name, "rows inserted", tally.inserted, "count");
  report.figure(name, "rows moved", tally.moved, "count");
  report.figure(name, "rows deleted", tally.deleted, "count");
  report.figure(name, "refreshes asked for", tally.refreshes, "count");
  report.figure(name, "rounds compared", compared.length, "count");
  report.figure(name, "buckets compared", buckets, "count");
  report.figure(name, "buckets that are wrong", wrong.length, "count");
  report.rule(
    wrong.length === 0 && buckets > 0,
    `${name}: every bucket equals its rows (${wrong.length} do not${wrong.length === 0 ? "" : `: ${wrong.slice(0, 3).join(", ")}`})`,
  );
  report.rule(
    tally.lost.length === 0,
    `${name}: no transaction fails or deadlocks (${tally.lost.slice(0, 2).join("; ")})`,
  );
  report.rule(
    Math.min(tally.inserted, tally.moved, tally.deleted, tally.refreshes) > 0,
    `${name}: there were inserts, moves, deletes and refreshes`,
  );
}
