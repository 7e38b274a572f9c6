import { testDatabase } from "@svc/dev-services";
import { type Queryable, withTransaction } from "@svc/sql";
import { expect } from "chai";
import { type Expenses, openClient, openExpenses } from "./support/expenses.ts";

interface Node {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Cond"?: string;
  readonly Plans?: readonly Node[];
}

describe("the plans of refresh() and verifyNext()", function () {
  this.timeout(60_000);
  let each: Expenses;
  after(() => each[Symbol.asyncDispose]());
  const database = testDatabase({ name: "rollup plans" });

  function nodes(node: Node): Node[] {
    return [node, ...(node.Plans ?? []).flatMap(nodes)];
  }

  before(async () => {
    each = await openExpenses(database.url);
    const { pool, rollup, source } = each;
    await pool.query(`insert into ${source} (tenant_id, spent_at, category, amount)
      select 't' || n % 20, timestamptz '2024-01-01' + n * interval '20 minutes', 'c' || n % 7, n from generate_series(1, 40000) n`);
    await rollup.rebuildAll(pool);
    await pool.query(`vacuum analyze ${source}`);
    await pool.query(`vacuum analyze ${rollup.table}`);
  });

  it("ROLL-2 use indexes to read a tenant's month in the source and in the totals", async () => {
    const { pool, rollup, source } = each;
    const plans = await withTransaction(pool, async (tx) => {
      const sent: [string, unknown[]][] = [];
      const recorder: Queryable = {
        query(text, values) {
          sent.push([text, values ?? []]);
          return tx.query(text, values);
        },
      };
      await rollup.refresh(recorder, { tenant: "t3", at: "2024-06-10T00:00:00Z" });
      expect(sent).to.have.length(2);
      const [text, values] = sent[1] as [string, unknown[]];
      const { rows } = await tx.query<{ "QUERY PLAN": [{ Plan: Node }] }>(
        `explain (format json) ${text}`,
        values,
      );
      return nodes((rows[0] as { "QUERY PLAN": [{ Plan: Node }] })["QUERY PLAN"][0].Plan);
    });
    const conditions = (table: string): [string, string][] =>
      plans
        .filter((node) => node["Index Cond"] !== undefined && (node["Relation Name"] ?? table) === table)
        .map((node) => [node["Node Type"], node["Index Cond"] ?? ""]);
    expect(
      plans.filter((node) => node["Node Type"] === "Seq Scan" && node["Relation Name"] !== "svc_rollups"),
    ).to.deep.equal([]);
    const ofSource = conditions(source).filter(([, condition]) => condition.includes("spent_at"));
    expect(ofSource).to.have.length(1);
    expect(ofSource[0]?.[1]).to.match(/tenant_id = .*spent_at >= .*spent_at < /);
    const ofTotals = conditions(rollup.table).filter(([, condition]) => condition.includes("month"));
    expect(ofTotals).to.have.length(2);
    for (const [, condition] of ofTotals) expect(condition).to.match(/tenant_id = .*month = /);
  });

  it("ROLL-2 read index entries, not rows, to find the tenants of verifyNext()", async () => {
    const { pool, rollup } = each;
    const sent: [string, unknown[]][] = [];
    await using client = await openClient(database.url);
    const recorder: Queryable = {
      query(text, values) {
        sent.push([text, values ?? []]);
        return client.query(text, values);
      },
    };
    await rollup.verifyNext(recorder, { from: "2024-03-01", to: "2024-03-31" });
    const listing = sent.filter(([text]) => text.startsWith("with recursive") || text.includes("has_null"));
    // The facts, the tenants with rows, and those with totals only.
    expect(listing).to.have.length(3);
    for (const [text, values] of listing) {
      const { rows } = await pool.query<{ "QUERY PLAN": [{ Plan: Node }] }>(
        `explain (format json) ${text}`,
        values,
      );
      const plans = nodes((rows[0] as { "QUERY PLAN": [{ Plan: Node }] })["QUERY PLAN"][0].Plan);
      expect(plans.filter((node) => node["Node Type"] === "Seq Scan")).to.deep.equal([]);
      expect(plans.some((node) => node["Node Type"].startsWith("Index"))).to.equal(true);
    }
  });
});
