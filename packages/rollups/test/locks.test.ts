import { testDatabase } from "@svc/dev-services";
import type { Moment } from "@svc/rollups";
import { type Queryable, sqlStateOf, withTransaction } from "@svc/sql";
import { rejection } from "@svc/test-support";
import { expect } from "chai";
import fc from "fast-check";
import { type Expenses, openClient, openExpenses } from "./support/expenses.ts";

describe("concurrent refreshes", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "rollup locks" });
  const at = "2026-03-10T12:00:00Z";

  /** Waits until `count` sessions wait for an advisory lock. */
  async function waiting({ pool }: Expenses, count: number): Promise<void> {
    const text = `select count(*)::int as n from pg_locks where locktype = 'advisory' and not granted
      and database = (select oid from pg_database where datname = current_database())`;
    while ((await pool.query<{ n: number }>(text)).rows[0]?.n !== count)
      await new Promise((done) => setTimeout(done, 5));
  }

  it("ROLL-3 wait for an earlier refresh of the same bucket, and then include the rows that it committed", async () => {
    await using each = await openExpenses(database.url);
    await using first = await openClient(database.url);
    const insert = (tx: Queryable): Promise<unknown> =>
      tx.query(
        `insert into ${each.source} (tenant_id, spent_at, category, amount) values ('acme', $1, 'food', 1)`,
        [at],
      );
    await first.query("begin");
    await insert(first);
    await each.rollup.refresh(first, { tenant: "acme", at });
    const second = withTransaction(each.pool, async (tx) => {
      await insert(tx);
      return each.rollup.refresh(tx, { tenant: "acme", at: "2026-03-01T00:00:00Z" });
    });
    await waiting(each, 1);
    // A refresh of another month or another tenant does not wait.
    await withTransaction(each.pool, (tx) =>
      each.rollup.refreshMany(tx, [
        { tenant: "acme", at: "2026-04-10T12:00:00Z" },
        { tenant: null, at },
      ]),
    );
    await first.query("commit");
    expect(await second).to.deep.equal({ month: "2026-03-01", written: 1, removed: 0 });
    expect(await each.totals()).to.deep.include.members([
      { tenant_id: "acme", month: "2026-03-01", category: "food", total: 2, n: 2 },
    ]);
  });

  it("ROLL-3 wait until rebuildAll() has committed", async () => {
    await using each = await openExpenses(database.url);
    await using first = await openClient(database.url);
    await each.add("acme", at, "food", 1);
    await first.query("begin");
    await each.rollup.rebuildAll(first);
    await each.add("acme", at, "food", 1);
    const second = withTransaction(each.pool, (tx) => each.rollup.refresh(tx, { tenant: "acme", at }));
    await waiting(each, 1);
    await first.query("commit");
    expect(await second).to.include({ written: 1 });
  });

  it("ROLL-3 do not deadlock when they list several buckets in different orders", async () => {
    await using each = await openExpenses(database.url);
    const moments = ["b", "a", null].flatMap((tenant) =>
      [1, 2, 3].map((month) => ({ tenant, at: `2026-0${month}-10T12:00:00Z` })),
    );
    for (const { tenant, at: when } of moments) await each.add(tenant, when, "food", 1);
    const runs = Array.from({ length: 10 }, (_, index) =>
      withTransaction(each.pool, (tx) =>
        each.rollup.refreshMany(tx, index % 2 === 0 ? moments : moments.toReversed()),
      ),
    );
    const failed = (await Promise.allSettled(runs)).filter(({ status }) => status === "rejected");
    expect(failed).to.deep.equal([]);
    expect(await each.totals()).to.have.length(9);
  });

  const TENANTS = ["a", "b", null] as const;
  // Instants around the start of March and April in Berlin, and one between them.
  const MOMENTS = [
    "2026-02-28T22:59:59.999Z",
    "2026-02-28T23:00:00Z",
    "2026-03-15T00:00:00Z",
    "2026-03-31T22:00:00Z",
  ];
  const row = fc.record({
    tenant: fc.constantFrom(...TENANTS),
    at: fc.constantFrom(...MOMENTS),
    category: fc.constantFrom("x", "y", "", null),
    amount: fc.option(fc.integer({ min: -5, max: 5 })),
  });
  const step = fc.oneof(
    fc.record({ kind: fc.constant("insert" as const), row }),
    fc.record({ kind: fc.constant("update" as const), row, pick: fc.nat(20) }),
    fc.record({ kind: fc.constant("delete" as const), pick: fc.nat(20) }),
    fc.record({ kind: fc.constant("refresh" as const), row }),
  );
  type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

  const momentOf = ({ tenant, at: when }: Moment): Moment => ({ tenant, at: when });

  async function take({ rollup, source }: Expenses, tx: Queryable, each: Step): Promise<void> {
    if (each.kind === "refresh") return void (await rollup.refresh(tx, momentOf(each.row)));
    if (each.kind === "insert") {
      const { tenant, at: when, category, amount } = each.row;
      const text = `insert into ${source} (tenant_id, spent_at, category, amount) values ($1, $2, $3, $4)`;
      await tx.query(text, [tenant, when, category, amount]);
      return void (await rollup.refresh(tx, momentOf(each.row)));
    }
    interface Old extends Record<string, unknown> {
      readonly id: number;
      readonly tenant: string | null;
      readonly at: Date;
    }
    const [old] = (
      await tx.query<Old>(
        `select id, tenant_id as tenant, spent_at as at from ${source} order by id offset $1 limit 1 for update`,
        [each.pick],
      )
    ).rows;
    if (old === undefined) return;
    const was = { tenant: old.tenant, at: old.at };
    if (each.kind === "delete") {
      await tx.query(`delete from ${source} where id = $1`, [old.id]);
      return void (await rollup.refresh(tx, was));
    }
    const { tenant, at: when, category, amount } = each.row;
    const text = `update ${source} set tenant_id = $2, spent_at = $3, category = $4, amount = $5 where id = $1`;
    await tx.query(text, [old.id, tenant, when, category, amount]);
    await rollup.refreshMany(tx, [was, momentOf(each.row)]);
  }

  it("ROLL-2 ROLL-3 keep every bucket equal to its rows while ten sessions make random changes", async () => {
    await using each = await openExpenses(database.url);
    const { pool, rollup, source } = each;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 25 }), async (steps) => {
        await pool.query(`truncate ${source}, ${rollup.table}`);
        const queue = [...steps];
        const session = async (): Promise<void> => {
          for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
            const current = next;
            await withTransaction(pool, (tx) => take(each, tx, current), { retries: 5 });
          }
        };
        await Promise.all(Array.from({ length: 10 }, session));
        for (const tenant of TENANTS) {
          const { drift } = await rollup.verify(pool, { tenant, from: "2026-01-01", to: "2026-05-31" });
          expect(drift).to.deep.equal([]);
        }
        expect(await rollup.rebuildAll(pool)).to.deep.equal({ written: 0, removed: 0 });
      }),
      { numRuns: 8 },
    );
  });

  it("reject with the error of the server if the table is missing", async () => {
    await using each = await openExpenses(database.url);
    await each.pool.query(`drop table ${each.rollup.table}`);
    const errors = await Promise.all(
      Array.from({ length: 2 }, () =>
        rejection(withTransaction(each.pool, (tx) => each.rollup.refresh(tx, { tenant: "acme", at }))),
      ),
    );
    expect(errors.map(sqlStateOf)).to.deep.equal(["42P01", "42P01"]);
  });
});
