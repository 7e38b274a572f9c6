import { expect } from "chai";
import type { BenchOptions } from "../harness/bench.ts";
import { rateLimits } from "../rate-limit/bench.ts";
import type { LimitSetting } from "../rate-limit/limits.ts";
import { start } from "../rate-limit/subject.ts";
import { boundaryVerdicts, costVerdicts, memoryVerdicts } from "../rate-limit/verdicts.ts";

describe("the benchmark of rate limits", () => {
  it("rejects an unknown case, and lists the known cases", async () => {
    const options = { only: ["nothing"] } as unknown as BenchOptions;
    const message = await rateLimits.run(options).then(String, (error: Error) => error.message);
    expect(message).to.match(/^there is no case nothing; there are none, svc-memory, .*, memory$/);
  });

  for (const by of ["none", "svc-memory", "express-rate-limit", "rate-limiter-flexible-memory"] as const) {
    it(`proves the claims of the case ${by}`, async () => {
      const setting = { by, redis: { url: "", keyPrefix: "" }, limit: 1e9, windowSeconds: 60 };
      const subject = await start(JSON.stringify(setting satisfies LimitSetting));
      await subject.prove();
      await subject.run(20);
    });
  }

  it("rejects a case that counts nothing", async () => {
    const setting = { by: "none", redis: { url: "", keyPrefix: "" }, limit: 1e9, windowSeconds: 60 };
    const subject = await start(JSON.stringify({ ...setting, by: "svc-memory" }));
    const other = await start(JSON.stringify(setting));
    await subject.prove();
    await other.prove();
    const wrong = await start(JSON.stringify({ ...setting, by: "unknown" }));
    expect(await wrong.prove().catch((error: Error) => error.message)).to.contain("the limit");
  });

  it("compares costs with those of the peers, and omits cases that were not measured", () => {
    const costs = (each: Readonly<Record<string, number>>) =>
      costVerdicts(new Map(Object.entries(each).map(([name, cost]) => [name, [cost]]))).map(
        ({ mark }) => mark,
      );
    const all = { none: 10, "svc-memory": 14, "express-rate-limit": 14, "svc-redis": 20 };
    expect(costs({ ...all, "rate-limiter-flexible-redis": 20 })).to.deep.equal(["ok", "ok"]);
    expect(costs({ ...all, "svc-memory": 14.1, "rate-limiter-flexible-redis": 19 })).to.deep.equal([
      "FAIL",
      "FAIL",
    ]);
    expect(costs(all)).to.deep.equal(["ok"]);
    expect(costs({ none: 10 })).to.deep.equal([]);
  });

  it("compares our admissions at the boundary of a window with the bound, and not those of the peers", () => {
    const crossings = new Map([
      ["svc-memory", { admitted: 105, most: 105 }],
      ["svc-redis", { admitted: 106, most: 105 }],
      ["express-rate-limit", { admitted: 199, most: 105 }],
    ]);
    expect(boundaryVerdicts(crossings).map(({ mark }) => mark)).to.deep.equal(["ok", "FAIL"]);
  });

  it("compares the size and the growth of the memory with the bounds", () => {
    const marks = (growth: readonly number[]) => memoryVerdicts(growth).map(({ mark }) => mark);
    expect(marks([95, 98, 100, 100])).to.deep.equal(["ok", "ok"]);
    expect(marks([20, 40, 60, 101])).to.deep.equal(["FAIL", "FAIL"]);
  });
});
