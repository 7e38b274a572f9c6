import type { ConformanceReport } from "@svc/conformance";
import { expect } from "chai";
import { failures, judge, unjudgedIn, startAll, messagesOf } from "./support/judge.ts";
import { issuingMutations } from "./mutations.ts";

const names = ["issuing", "ring"] as const;

describe("the kit against services that issue tokens and break one rule", function () {
  this.timeout(180_000);
  let reports: readonly Promise<ConformanceReport>[] = [];
  before(() => {
    reports = startAll([...names.map((base) => ({ base, differences: {} })), ...issuingMutations()]);
    for (const each of reports) each.catch(() => undefined);
  });
  const soundReport = (base: string): Promise<ConformanceReport> =>
    reports[names.findIndex((name) => name === base)] ??
    Promise.reject(new Error("the checks have not begun"));

  for (const name of names) {
    it(`finds no fault in the sound service ${name}`, async () => {
      const report = await soundReport(name);
      expect(messagesOf(failures(report))).to.deep.equal([]);
      expect(report.passed).to.be.above(100);
      expect(JSON.stringify(report)).not.to.match(/eyJ[\w-]{10,}/);
    });
  }

  for (const [index, { rule, what, base, unjudged = [] }] of issuingMutations().entries()) {
    it(`fails only ${rule}: ${what} (${base})`, async () => {
      const report = await reports[names.length + index];
      if (report === undefined) throw new Error("the checks have not begun");
      const failed = failures(report);
      expect(
        failed.map(({ id }) => id),
        messagesOf(failed).join("; "),
      ).to.deep.equal([rule]);
      expect(report.conforms).to.equal(false);
      expect(unjudgedIn(await soundReport(base), report)).to.deep.equal(unjudged.toSorted());
      expect(JSON.stringify(report)).not.to.match(/eyJ[\w-]{10,}/);
    });
  }

  it("judges a sound service only by the contract unless `house` is set", async () => {
    const report = await judge("issuing", {}, { house: false });
    expect(messagesOf(failures(report))).to.deep.equal([]);
    expect([...new Set(report.findings.map(({ source }) => source))]).to.deep.equal(["contract"]);
  });
});
