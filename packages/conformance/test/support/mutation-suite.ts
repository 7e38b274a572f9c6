import type { ConformanceReport } from "@svc/conformance";
import { expect } from "chai";
import type { Mutation } from "../mutations/mutation.ts";
import type { BaseName } from "./bases.ts";
import { failures, judge, messagesOf, startAll, unjudgedIn } from "./judge.ts";

/** The sound services of a suite, and the mutations that break one rule of them. */
export interface MutationSuite {
  readonly names: readonly BaseName[];
  readonly mutations: readonly Mutation[];
  /** The sound service that the suite also checks without the conventions. */
  readonly contractOnly: BaseName;
  /** A sound service must pass more rules than this. */
  readonly minPassed: number;
}

/** Defines the tests: the kit must find no fault in a sound service, and must name the rule that each mutation breaks. */
export function judgesMutations({ names, mutations, contractOnly, minPassed }: MutationSuite): void {
  let reports: readonly Promise<ConformanceReport>[] = [];
  before(() => {
    reports = startAll([...names.map((base) => ({ base, differences: {} })), ...mutations]);
    for (const each of reports) each.catch(() => undefined);
  });
  const reportAt = (index: number): Promise<ConformanceReport> =>
    reports[index] ?? Promise.reject(new Error("the checks have not begun"));
  const soundReport = (base: BaseName): Promise<ConformanceReport> => reportAt(names.indexOf(base));

  for (const name of names) {
    it(`finds no fault in the sound service ${name}`, async () => {
      const report = await soundReport(name);
      expect(messagesOf(failures(report))).to.deep.equal([]);
      expect(report.passed).to.be.above(minPassed);
      expectNoToken(report);
    });
  }

  for (const [index, { rule, what, base, unjudged = [] }] of mutations.entries()) {
    it(`fails only ${rule}: ${what} (${base})`, async () => {
      const report = await reportAt(names.length + index);
      const failed = failures(report);
      expect(
        failed.map(({ id }) => id),
        messagesOf(failed).join("; "),
      ).to.deep.equal([rule]);
      expect(report.conforms).to.equal(false);
      expect(unjudgedIn(await soundReport(base), report)).to.deep.equal(unjudged.toSorted());
      expectNoToken(report);
    });
  }

  it("checks a sound service only for rules of the contract unless `house` is set", async () => {
    const report = await judge(contractOnly, {}, { house: false });
    expect(messagesOf(failures(report))).to.deep.equal([]);
    expect([...new Set(report.findings.map(({ source }) => source))]).to.deep.equal(["contract"]);
  });
}

function expectNoToken(report: ConformanceReport): void {
  expect(JSON.stringify(report)).not.to.match(/eyJ[\w-]{10,}/);
}
