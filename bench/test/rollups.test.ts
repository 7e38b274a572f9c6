import { needsSharedPostgres, openTestDatabase } from "@svc/dev-services";
import { expect } from "chai";
import pg from "pg";
import type { BenchOptions } from "../harness/bench.ts";
import { measureBeside, type Side, timeInTurn, verdictsBeside } from "../harness/beside.ts";
import { rollups } from "../rollups/bench.ts";
import { fillLedger } from "../rollups/data.ts";
import { quantilesOf, verdictOf } from "../rollups/figures.ts";
import { expectIndexRanges, readingsOf, record } from "../rollups/plans.ts";
import { runPlugin } from "../rollups/plugin.ts";

const options: BenchOptions = {
  json: true,
  quick: true,
  socket: false,
  record: false,
  only: undefined,
  rounds: 1,
  print: () => undefined,
  note: () => undefined,
};

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

  it("rejects an unknown case, and lists the known cases", async () => {
    const run = rollups.run({ ...options, only: ["nothing"] });
    const reason = await run.then(
      () => "none",
      (error: Error) => error.message,
    );
    expect(reason).to.equal("there is no case nothing; there are panel, plugin, refresh");
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

describe("the comparison with direct calls", () => {
  const timesOf = (medians: Readonly<Record<string, number>>) =>
    new Map(Object.entries(medians).map(([name, ms]) => [name, [0, ms, 9]]));

  it("accepts a ratio equal to its bound, and fails for a larger ratio and for a side without times", () => {
    const verdicts = (service: number) =>
      verdictsBeside("plugin", timesOf({ "by-hand": 1, control: 1.01, service }), { service: 1.05 });
    expect(verdicts(1.05)).to.deep.equal([
      { mark: "ok", text: "plugin/control: 1.010 x by-hand, range 0.97 to 1.03" },
      { mark: "ok", text: "plugin/service: 1.050 x by-hand, bound at most 1.05" },
    ]);
    expect(verdicts(1.06).map(({ mark }) => mark)).to.deep.equal(["ok", "FAIL"]);
    const without = verdictsBeside("plugin", timesOf({ "by-hand": 1, control: 1 }), { service: 1.05 });
    expect(without.map(({ mark }) => mark)).to.deep.equal(["ok", "FAIL"]);
  });

  it("is void when the control is out of range or has no times, even within the bound", () => {
    const marks = (medians: Readonly<Record<string, number>>) =>
      verdictsBeside("plugin", timesOf({ "by-hand": 1, service: 1, ...medians }), { service: 1.05 }).map(
        ({ mark }) => mark,
      );
    for (const control of [0.96, 1.04]) expect(marks({ control })).to.deep.equal(["VOID", "VOID"]);
    expect(marks({})).to.deep.equal(["VOID", "VOID"]);
  });

  const opening =
    <T>(all: readonly Side<T>[], onClose: () => void = () => undefined) =>
    async () => ({ all, [Symbol.asyncDispose]: async () => onClose() });

  it("opens the sides in every round, and runs each side equally often in each position", async () => {
    const calls: string[] = [];
    const sides = ["a", "b", "c"].map((name): Side<number> => ({
      name,
      time: async (task) => calls.push(`${name}${task}`),
    }));
    const open = opening(sides, () => void calls.push("closed"));
    const times = await timeInTurn(open, [1, 2], 2);
    expect(calls).to.have.length(2 * (7 * 6 + 1));
    expect([calls[42], calls.at(-1)]).to.deep.equal(["closed", "closed"]);
    // The loop does not time its first pass.
    const passes = Array.from({ length: 7 }, (_, pass) => calls.slice(6 * pass, 6 * (pass + 1)));
    expect(passes[0]?.join()).to.equal("a1,b1,c1,a2,b2,c2");
    for (const place of [0, 1, 2]) {
      const there = passes.slice(1).map((pass) => String(pass[place]));
      expect(there.toSorted().join()).to.equal("a1,a1,b1,b1,c1,c1");
    }
    expect([...times.values()].map((each) => each.length)).to.deep.equal([24, 24, 24]);
    expect(times.get("a")?.[0]).to.equal(7);
  });

  it("measures again with twice the rounds when the control is out of range, except in a quick run", async () => {
    const sides = Object.entries({ "by-hand": 1, control: 2 }).map(([name, ms]): Side<string> => ({
      name,
      time: async () => ms,
    }));
    for (const { quick, rounds } of [
      { quick: false, rounds: 6 },
      { quick: true, rounds: 3 },
    ]) {
      const noted: string[] = [];
      const note = (line: string): void => void noted.push(line);
      const times = await measureBeside(opening(sides), ["task"], 3, { quick, note });
      expect(times.get("control")).to.have.length(4 * rounds);
      expect(noted).to.deep.equal(
        quick ? [] : ["the control is at 2.000: measuring again, with twice the rounds"],
      );
    }
  });
});

describe("the case `plugin` of the rollups benchmark", () => {
  needsSharedPostgres();

  it("computes the same panel by rollup.query() and through a service, for both tenants", async () => {
    await using database = await openTestDatabase({ name: "bench-rollups" });
    const pool = new pg.Pool({ connectionString: database.url });
    // The database is dropped while the last connections still close.
    pool.on("error", () => undefined);
    try {
      const ledger = await fillLedger(pool, "expenses", { first: 0, tenants: 8, rowsEach: 200 }, 400);
      const printed: string[] = [];
      const print = (line: string): void => void printed.push(line);
      const verdicts = await runPlugin(database.url, pool, ledger, { ...options, print });
      const names = ["big", "typical"].flatMap((size) => [
        `plugin/${size}/control`,
        `plugin/${size}/service`,
      ]);
      expect(verdicts.map(({ text }) => text.split(":")[0])).to.deep.equal(names);
      const metrics = printed.map((line) => (JSON.parse(line) as { metric: string }).metric);
      expect(metrics).to.include.members([...names, "plugin/big/by-hand", "plugin/typical/service/p95"]);
      await pool.query("update expenses_monthly set total = total + 1");
      const wrong = await runPlugin(database.url, pool, ledger, options).catch(
        (error: Error) => error.message,
      );
      expect(wrong).to.match(/^the panel of big by by-hand should be .* and is /);
    } finally {
      await pool.end();
    }
  });
});
