import { createService, type Service } from "@svc/express";
import { defineRollup } from "@svc/rollups";
import { withTransaction } from "@svc/sql";
import pg from "pg";
import { createRandom, type Random } from "../fuzz/random.ts";
import { asBuilt } from "../harness/experiment.ts";

export const MONTHS = 3;
/** Tenants whose rows change by hand. */
export const BEHIND: readonly (string | null)[] = [
  ...Array.from({ length: 12 }, (_, n) => `hand-${n}`),
  null,
];
/** Tenants whose rows change through the service. */
const SERVED: readonly string[] = Array.from({ length: 6 }, (_, n) => `served-${n}`);
const CATEGORIES: readonly (string | null)[] = ["food", "travel", null];
const WRITERS = 3;

/** A table of sales, and two replicas of a service that keep its totals. */
export interface Replicas extends AsyncDisposable {
  readonly pool: pg.Pool;
  readonly services: readonly Service[];
  /** Writes rows through both replicas until the given function ends; returns the number of transactions. */
  whileServing(work: () => Promise<void>): Promise<number>;
}

export interface ReplicaOptions {
  readonly url: string;
  readonly variant: string;
  readonly repair: boolean;
  /** Seconds between two ticks. */
  readonly every: number;
  readonly seed: number;
}

export async function openReplicas({ url, variant, repair, every, seed }: ReplicaOptions): Promise<Replicas> {
  const pool = new pg.Pool({ connectionString: url, max: WRITERS + 2 });
  pool.on("error", () => undefined);
  await pool.query(`create table sales (
    id bigint generated always as identity primary key, tenant_id text, at timestamptz not null, category text,
    amount numeric(12, 2) not null
  )`);
  await pool.query("create index on sales (tenant_id, at)");
  const config = {
    toml: `
[service]
name = "sales"
env = "local"
port = 0
[logging]
level = "error"
[plugins]
enabled = ["database", "queue", "rollups"]
[plugin.database]
url = "${url}"
[plugin.queue]
poll = 0.05
[plugin.rollups]
verify_every = ${every}
verify_months = ${variant === asBuilt ? MONTHS : 1}
repair = ${repair}`,
  };
  const services: Service[] = [];
  for (let replica = 0; replica < 2; replica++) {
    const monthly = defineRollup({
      name: "sales_months",
      source: { table: "sales", tenantColumn: "tenant_id", timeColumn: "at" },
      groupBy: { category: { column: "category" } },
      measures: {
        total: { sql: "sum(amount)", type: "numeric(14, 2)" },
        n: { sql: "count(*)", type: "bigint" },
      },
      timeZone: "UTC",
    });
    const logDestination = { write: () => undefined };
    const service = await createService({
      config,
      env: {},
      signals: false,
      rollups: { monthly },
      logDestination,
    });
    await service.start();
    services.push(service);
  }
  const base = createRandom(seed);
  for (const tenant of BEHIND) for (let n = 0; n < 12; n++) await insert(pool, tenant, base);
  await services[0]?.rollups?.["monthly"]?.rebuildAll();

  /** Writes a row of a served tenant. One replica refreshes its totals in the same transaction, the other by a job. */
  async function serve(random: Random): Promise<void> {
    const replica = random.whole(2);
    const rollup = services[replica]?.rollups?.["monthly"];
    await withTransaction(pool, async (tx) => {
      const tenant = random.pick(SERVED);
      const at = await insert(tx, tenant, random);
      await (replica === 0 ? rollup?.refresh(tx, { tenant, at }) : rollup?.refreshLater(tx, { tenant, at }));
    });
  }

  return {
    pool,
    services,
    async whileServing(work) {
      let [isOver, written] = [false, 0];
      const writers = Array.from({ length: WRITERS }, async (_, n) => {
        const random = createRandom(seed + 1 + n);
        while (!isOver) {
          await serve(random);
          written += 1;
          // Leave time for the statements themselves.
          await new Promise((done) => setTimeout(done, 5));
        }
      });
      try {
        await work();
      } finally {
        isOver = true;
        await Promise.all(writers);
      }
      return written;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(services.map((service) => service.stop()));
      await pool.end();
    },
  };
}

/** Returns an instant in one of the last months. */
export function momentOf(random: Random): Date {
  const now = new Date();
  const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - random.whole(MONTHS), 1));
  return new Date(month.getTime() + random.whole(28 * 24 * 3600) * 1000);
}

export async function insert(
  db: { query(text: string, values: unknown[]): Promise<unknown> },
  tenant: string | null,
  random: Random,
): Promise<Date> {
  const at = momentOf(random);
  const values = [tenant, at, random.pick(CATEGORIES), random.whole(10_000) / 100];
  await db.query("insert into sales (tenant_id, at, category, amount) values ($1, $2, $3, $4)", values);
  return at;
}
