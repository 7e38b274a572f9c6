import { testDatabase } from "@svc/dev-services";
import { expect } from "chai";
import fc from "fast-check";
import pg from "pg";
import { list, record, walk } from "./support/expenses.ts";
import { serviceFor } from "./support/running-service.ts";

describe("pages of expenses", () => {
  const database = testDatabase({ name: "pages" });
  const running = serviceFor(database);

  it("contain every row once and in order, even if many were paid in the same millisecond", async function () {
    this.timeout(60_000);
    // The first request creates the table.
    await list(running.url, {});
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    let tenants = 0;
    try {
      const rows = fc.array(fc.record({ offset: fc.nat(4), category: fc.constantFrom("meals", "travel") }), {
        maxLength: 40,
      });
      await fc.assert(
        fc.asyncProperty(
          rows,
          fc.integer({ min: 1, max: 12 }),
          fc.boolean(),
          async (given, limit, narrow) => {
            const tenant = `t${tenants++}`;
            await client.query(
              `insert into expenses (id, tenant, category, amount, paid_at)
             select md5($1 || n), $1, category, 1,
               timestamptz '2026-03-31 23:59:59.998Z' + at * interval '1 ms'
             from unnest($2::int[], $3::text[]) with ordinality as given (at, category, n)`,
              [tenant, given.map(({ offset }) => offset), given.map(({ category }) => category)],
            );
            const { rows: expected } = await client.query<{ id: string }>(
              `select id from expenses where tenant = $1 and ($2 or category = 'meals')
             order by paid_at desc, id desc`,
              [tenant, !narrow],
            );
            const query = { tenant, limit: String(limit), ...(narrow ? { category: "meals" } : {}) };
            expect(await walk(running.url, query)).to.deep.equal(expected.map(({ id }) => id));
          },
        ),
        { numRuns: 40 },
      );
    } finally {
      await client.end();
    }
  });

  it("are not shifted by rows that are written between two pages", async () => {
    const tenant = "moving";
    for (const day of ["05", "04", "03", "02"])
      await record(running.url, { tenant, paid_at: `2026-03-${day}T00:00:00Z` });
    const first = await list(running.url, { tenant, limit: "2" });
    await record(running.url, { tenant, paid_at: "2026-03-06T00:00:00Z" });
    const second = await list(running.url, { tenant, limit: "2", cursor: first.next ?? "" });
    expect([...first.expenses, ...second.expenses].map(({ paid_at }) => paid_at.slice(8, 10))).to.deep.equal([
      "05",
      "04",
      "03",
      "02",
    ]);
    expect(second.next).to.equal(null);
  });
});
