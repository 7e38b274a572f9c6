import { expect } from "chai";
import { createGenerator } from "../fuzz/generator.ts";
import { createRandom } from "../fuzz/random.ts";
import { fuzz } from "../fuzz.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

// Use a fixed seed, so that a failure is reproducible.
const seed = 20_261_121;

describe("fuzz", function () {
  this.timeout(120_000);

  it("ERR-1 ERR-21 COR-7 LOG-1 responds to unusual and invalid requests, and logs one record per line", async () => {
    const report = await quickRun(fuzz, { seed, cases: 1000 });
    expectHeld(report);
    expect(report.value("all", "requests")).to.equal(1000);
    expect(report.value("all", "reached a route")).to.be.above(100);
    expect(report.value("to be refused", "requests")).to.be.above(100);
  });

  it("fails for a handler that throws on some input", async () => {
    const report = await quickRun(fuzz, { seed, cases: 150, variant: "broken-handler" });
    expectBroken(report, /5xx/);
  });

  it("fails for a service that logs raw input", async () => {
    const report = await quickRun(fuzz, { seed, cases: 150, variant: "broken-raw-log" });
    expectBroken(report, /every log line is one record/);
  });

  it("fails for Node's own HTTP server in front of the same application", async () => {
    const report = await quickRun(fuzz, { seed, cases: 150, variant: "broken-plain-server" });
    expectBroken(report, /every refusal a problem/);
    expectBroken(report, /reaches a route/);
  });

  it("generates the same requests from the same seed", () => {
    const [one, same, other] = [1, 1, 2].map((each) => createGenerator(createRandom(each), 1000));
    for (let i = 0; i < 200; i++) expect(one?.()).to.deep.equal(same?.());
    const first = createGenerator(createRandom(1), 1000);
    expect(Array.from({ length: 20 }, () => first().bytes)).to.not.deep.equal(
      Array.from({ length: 20 }, () => other?.().bytes),
    );
  });
});
