import { expect } from "chai";
import { tokenDifferential } from "../token-differential.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

// Use a fixed seed, so that a failure is reproducible.
const seed = 20_261_121;

describe("token-differential", function () {
  this.timeout(120_000);

  it("AUTH-3 AUTH-21 finds verdicts that differ from jose's only in the listed classes", async () => {
    const report = await quickRun(tokenDifferential, { seed, cases: 1500 });
    expectHeld(report);
    expect(report.value("all", "tokens")).to.equal(1500);
    expect(report.value("all", "accepted by both")).to.be.above(300);
  });

  for (const [variant, cases] of [
    ["broken-crit", 150],
    ["broken-base64", 150],
    ["broken-cache", 400],
  ] as const) {
    it(`fails for a verifier that accepts too much: ${variant}`, async () => {
      const report = await quickRun(tokenDifferential, { seed, cases, variant });
      expectBroken(report, /no token with a listed defect is accepted/);
    });
  }

  it("fails for a verifier that refuses tokens outside the listed classes", async () => {
    const report = await quickRun(tokenDifferential, { seed, cases: 150, variant: "broken-strict" });
    expectBroken(report, /belongs to a listed class/);
  });
});
