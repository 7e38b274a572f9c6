import { expect } from "chai";
import { issuerConfusion } from "../issuer-confusion.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

// A fixed seed, so that a failure is reproducible.
const seed = 20_261_128;

describe("issuer-confusion", function () {
  this.timeout(120_000);

  it("AUTH-6 accepts no token of one issuer with the key of another", async () => {
    const report = await quickRun(issuerConfusion, { seed, cases: 1500 });
    expectHeld(report);
    expect(report.value("all", "tokens")).to.equal(1500);
    expect(report.value("all", "accepted for the wrong issuer")).to.equal(0);
    expect(report.value("all", "accepted")).to.be.above(300);
  });

  for (const variant of issuerConfusion.brokenVariants) {
    it(`fails for a verifier that confuses issuers: ${variant}`, async () => {
      const report = await quickRun(issuerConfusion, { seed, cases: 500, variant });
      expectBroken(report, /no token is accepted that the issuer in its iss did not sign/);
    });
  }
});
