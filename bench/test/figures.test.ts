import { expect } from "chai";
import { controlLimits, faultyControls } from "../harness/controls.ts";
import { pairedRatioOf, ratioOf, summarise } from "../harness/figures.ts";
import { figuresOf, tableOf } from "../harness/report.ts";

const measured = new Map([
  ["bare", [10, 12, 11, 90, 10]],
  ["more", [15, 18, 16.5, 20, 15]],
  ["again", [10, 12, 11, 40, 10]],
]);

describe("the results of a run", () => {
  it("are minimum, lower quartile, median and maximum of the rounds", () => {
    expect(summarise([5, 1, 4, 2, 3])).to.deep.equal({ min: 1, p25: 2, median: 3, max: 5 });
    expect(summarise([1, 2])).to.deep.equal({ min: 1, p25: 1.25, median: 1.5, max: 2 });
  });

  it("are compared by their medians, so that a disturbed round of the base case has no effect", () => {
    expect(ratioOf(measured.get("more") ?? [], measured.get("bare") ?? [])).to.equal(1.5);
  });

  it("are compared within each round for the paired ratio, so that a slow phase affects both cases equally", () => {
    expect(pairedRatioOf([2, 20, 200], [1, 10, 100])).to.equal(2);
  });

  it("are printed as JSON lines: ratio to the base, cost, and cost above the base", () => {
    const figures = figuresOf("http", measured, { base: "bare", second: "again" });
    expect(figures.filter((figure) => figure.case === "more")).to.deep.equal([
      { bench: "http", case: "more", metric: "ratio", value: 1.5, unit: "ratio" },
      { bench: "http", case: "more", metric: "paired-ratio", value: 1.5, unit: "ratio" },
      { bench: "http", case: "more", metric: "ratio-to-again", value: 1.5, unit: "ratio" },
      { bench: "http", case: "more", metric: "cpu", value: 15, unit: "us" },
      { bench: "http", case: "more", metric: "added", value: 5, unit: "us" },
    ]);
  });

  it("include the ratio of a pair of cases if both were measured", () => {
    const figures = figuresOf("http", measured, { base: "bare", pairs: { more: "again", other: "bare" } });
    const own = figures.filter(({ metric }) => metric === "ratio-to-again");
    expect(own).to.deep.equal([
      { bench: "http", case: "more", metric: "ratio-to-again", value: 1.5, unit: "ratio" },
    ]);
    expect(
      tableOf(measured, { base: "bare", pairs: { more: "again", other: "bare" } }).slice(4),
    ).to.deep.equal(["more to again: 1.50"]);
  });

  it("are printed as a table with a row for each case", () => {
    const rows = tableOf(measured, { base: "bare" });
    expect(rows.map((row) => row.split(/\s+/)[0])).to.deep.equal(
      ["us/request:", "bare", "more", "again"].map((name, index) => (index === 0 ? "" : name)),
    );
    expect(rows[2]).to.match(/15\.00 +15\.00 +16\.50 +20\.00 +\| 1\.50 +1\.50 +5\.00$/);
  });

  it("are void when the ratio of the base to itself is too far from 1", () => {
    const controls = { base: "bare", names: ["low", "edge", "high"] };
    const samples = (cost: number): number[] => [cost, cost, cost];
    const [low, high] = controlLimits;
    const run = new Map([
      ["bare", samples(1000)],
      ["low", samples(1000 * low - 1)],
      ["edge", samples(1000 * high)],
      ["high", samples(1000 * high + 1)],
    ]);
    expect(faultyControls(run, controls)).to.deep.equal(["0.949", "1.051"]);
    expect(faultyControls(new Map(), controls)).to.have.length(3);
  });
});
