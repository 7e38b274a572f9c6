import { expect } from "chai";
import type { BenchOptions } from "../harness/bench.ts";
import type { Measured } from "../harness/rounds.ts";
import { telemetry } from "../telemetry/bench.ts";
import { type Group, names, requestCases, statementCases } from "../telemetry/cases.ts";
import { exportingAll } from "../telemetry/export-all.ts";
import { figuresOf } from "../telemetry/figures.ts";
import { heapVerdict, verdictsOf } from "../telemetry/verdicts.ts";

const namesOf = (group: Group | undefined): readonly string[] | undefined =>
  group?.cases.map(({ name }) => name);

function measuredWith(costs: Readonly<Record<string, number>>): Measured {
  return new Map(Object.entries(costs).map(([name, cost]) => [name, [cost, cost, cost]]));
}

function marks(costs: Readonly<Record<string, number>>): readonly string[] {
  return verdictsOf(measuredWith(costs)).map(({ mark, text }) => `${mark} ${text.split(/[ :]/)[0]}`.trim());
}

describe("the telemetry benchmark", () => {
  it("rejects an unknown case, and lists the known cases", async () => {
    const options = { only: ["nothing"] } as unknown as BenchOptions;
    const message = await telemetry.run(options).then(String, (error: Error) => error.message);
    expect(message).to.equal(`there is no case nothing; there are ${names.join(", ")}`);
  });
});

describe("the cases of the telemetry benchmark", () => {
  it("include the base and the control, and the case auto only if its folder is given", () => {
    expect(namesOf(requestCases(["memory"], undefined))).to.deep.equal(["none", "memory", "control"]);
    expect(namesOf(requestCases(["auto"], "/there"))).to.deep.equal(["none", "auto", "control"]);
    expect(namesOf(requestCases(undefined, undefined))).not.to.include("auto");
    expect(namesOf(requestCases(["sql-svc"], undefined))).to.equal(undefined);
    expect(namesOf(statementCases(["sql-svc"], ""))).to.deep.equal(["sql-none", "sql-svc", "sql-control"]);
  });
});

describe("the bounds of the telemetry benchmark", () => {
  it("accept an added cost equal to the bound and reject a larger one", () => {
    const costs = { none: 10, stock: 30, "no-endpoint": 10.5, memory: 19, "sampled-out": 14 };
    expect(marks(costs)).to.deep.equal(["ok memory", "ok sampled-out", "ok no-endpoint"]);
    expect(marks({ ...costs, memory: 19.1, "sampled-out": 14.1, "no-endpoint": 10.6 })).to.deep.equal([
      "FAIL memory",
      "FAIL sampled-out",
      "FAIL no-endpoint",
    ]);
    expect(marks({ "sql-none": 60, "sql-svc": 90, "sql-stock": 90 })).to.deep.equal(["ok sql-svc"]);
    expect(marks({ "sql-none": 60, "sql-svc": 91, "sql-stock": 90 })).to.deep.equal(["FAIL sql-svc"]);
  });

  it("reject a comparison in which the other instrumentation costs nothing", () => {
    expect(marks({ none: 10, stock: 9, memory: 12 })).to.deep.equal(["FAIL memory"]);
  });

  it("report both instrumentations together without a bound, and omit cases that were not measured", () => {
    expect(marks({ none: 10, stock: 20, "stock-beside-ours": 22 })).to.deep.equal(["stock-beside-ours"]);
    expect(marks({ none: 10, memory: 12 })).to.deep.equal([]);
  });

  it("reject a heap that is more than 20 MB larger with a hanging collector", () => {
    expect([heapVerdict(20, 40).mark, heapVerdict(20, 40.1).mark]).to.deep.equal(["ok", "FAIL"]);
  });

  it("compute added costs and ratios from medians", () => {
    const group = requestCases(["memory"], undefined) as Group;
    const costs: Measured = new Map([
      ["none", [10, 10, 50]],
      ["memory", [15, 14, 90]],
      ["control", [10, 10, 10]],
    ]);
    const spans = new Map([
      ["none", 0],
      ["memory", 1],
    ]);
    const figures = figuresOf(group, costs, spans).filter(({ case: name }) => name === "memory");
    expect(figures).to.deep.equal([
      { case: "memory", metric: "us_per_request", value: 15, unit: "us" },
      { case: "memory", metric: "added_us", value: 5, unit: "us" },
      { case: "memory", metric: "ratio", value: 1.5, unit: "ratio" },
      { case: "memory", metric: "spans_per_request", value: 1, unit: "spans" },
    ]);
  });
});

describe("exportingAll()", () => {
  it("waits for each batch, and rejects when spans were dropped", async () => {
    let [exported, dropped] = [0, 0];
    const counts = () => ({ exported, dropped, failedBatches: 0, failing: false });
    const sizes: number[] = [];
    const run = exportingAll({ counts }, async (count) => {
      sizes.push(count);
      setTimeout(() => (exported += 512), 5);
    });
    await run(1024 + 100);
    expect([sizes, exported]).to.deep.equal([[512, 512, 100], 1024]);
    dropped = 1;
    exported -= 512;
    expect(await run(512).catch((error: Error) => error.message)).to.equal("1 spans were dropped");
  });
});
