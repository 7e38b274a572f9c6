import { checks } from "../src/checks/index.ts";
import type { ConformanceReport } from "@svc/conformance";
import { expect } from "chai";
import { type BaseName, bases } from "./support/bases.ts";
import { failures, judge, unjudgedIn, startAll, messagesOf } from "./support/judge.ts";
import { issuingMutations, mutations } from "./mutations.ts";

const isIssuing = (name: BaseName): boolean => "sessions" in bases[name];
const names = (Object.keys(bases) as BaseName[]).filter((name) => !isIssuing(name));

describe("the kit against services that break one rule", function () {
  this.timeout(180_000);
  let reports: readonly Promise<ConformanceReport>[] = [];
  before(() => {
    reports = startAll([...names.map((base) => ({ base, differences: {} })), ...mutations()]);
    for (const each of reports) each.catch(() => undefined);
  });
  const soundReport = (base: BaseName): Promise<ConformanceReport> =>
    reports[names.indexOf(base)] ?? Promise.reject(new Error("the checks have not begun"));

  for (const name of names) {
    it(`finds no fault in the sound service ${name}`, async () => {
      const report = await soundReport(name);
      expect(messagesOf(failures(report))).to.deep.equal([]);
      expect(report.passed).to.be.above(70);
    });
  }

  for (const [index, { rule, what, base, unjudged = [] }] of mutations().entries()) {
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
    });
  }

  it("is tested with a broken service for every check", () => {
    const broken = new Set([...mutations(), ...issuingMutations()].map(({ rule }) => rule));
    expect(checks.map(({ rule }) => rule).filter((rule) => !broken.has(rule))).to.deep.equal([]);
  });

  it("judges a sound service only by the contract unless `house` is set", async () => {
    const report = await judge("full", {}, { house: false });
    expect(messagesOf(failures(report))).to.deep.equal([]);
    expect([...new Set(report.findings.map(({ source }) => source))]).to.deep.equal(["contract"]);
  });
});
