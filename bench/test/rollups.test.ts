import { expect } from "chai";
import { quantilesOf, verdictOf } from "../rollups/figures.ts";
import { expectIndexRanges, readingsOf, record } from "../rollups/plans.ts";

describe("the rollups benchmark", () => {
  it("returns the median and the 95th percentile of times", () => {
    const times = Array.from({ length: 101 }, (_, n) => 100 - n);
    expect(quantilesOf(times)).to.deep.equal({ p50: 50, p95: 95 });
    expect(quantilesOf([]).p50).to.be.NaN;
  });

  it("fails for a ratio beyond its bound, and for NaN", () => {
    expect(verdictOf("a", 300, { least: 300 })).to.deep.equal({
      mark: "ok",
      text: "a: 300.00 x, at least 300",
    });
    expect(verdictOf("a", 299, { least: 300 }).mark).to.equal("FAIL");
    expect(verdictOf("a", 1.6, { most: 1.5 })).to.deep.equal({
      mark: "FAIL",
      text: "a: 1.60 x, at most 1.5",
    });
    expect(verdictOf("a", Number.NaN, { least: 1, most: 2 }).mark).to.equal("FAIL");
    expect(verdictOf("a", 7, {})).to.deep.equal({ mark: "", text: "a: 7.00 x" });
  });

  it("reports the scan of each table in a plan, and accepts only index range scans", async () => {
    const scan = { "Node Type": "Seq Scan", "Relation Name": "expenses" };
    const range = {
      "Node Type": "Bitmap Heap Scan",
      "Relation Name": "expenses",
      Plans: [{ "Node Type": "Bitmap Index Scan", "Index Cond": "((tenant_id = $1) AND (paid_at >= $2))" }],
    };
    const insert = { "Node Type": "ModifyTable", "Relation Name": "totals", Plans: [range] };
    const answers = [insert, { "Node Type": "Aggregate", Plans: [scan] }];
    const on = {
      query: async (text: string) => ({
        rows: text.startsWith("explain") ? [{ "QUERY PLAN": [{ Plan: answers.shift() }] }] : [],
      }),
    } as unknown as Parameters<typeof record>[0];
    const recording = record(on);
    await recording.on.query("with fresh as (select from expenses) insert into totals select 1");
    await recording.on.query("commit");
    await recording.on.query("select sum(amount) from expenses");
    const [good, bad] = [recording.statements.slice(0, 1), recording.statements.slice(1)];
    const columns = ["tenant_id", "paid_at"];
    const readings = await readingsOf(on, good, ["expenses", "totals"]);
    expect(readings).to.have.length(1);
    expectIndexRanges("a", readings, "expenses", columns);
    expect(() => expectIndexRanges("a", readings, "expenses", [...columns, "category"])).to.throw("category");
    expect(() => expectIndexRanges("a", readings, "totals", columns)).to.throw("not at all");
    const scans = await readingsOf(on, bad, ["expenses"]);
    expect(() => expectIndexRanges("a", scans, "expenses", columns)).to.throw("is read: Seq Scan");
  });
});
