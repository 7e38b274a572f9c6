import type { ConformanceReport } from "@svc/conformance";
import { expect } from "chai";
import { failures, judge, messagesOf } from "./support/judge.ts";

describe("a service that does not serve the probe `tenant` below /t/<tenant>", function () {
  this.timeout(60_000);
  const unserved = {
    request(req: { url?: string | undefined }) {
      req.url = req.url?.replace(/^\/t\//, "/nowhere/");
    },
  };
  const reason = "the probe `tenant` is not served below /t/<tenant>: 404 for /t/acme/tenant";

  function verdictOf({ findings }: ConformanceReport, rule: string): unknown {
    return findings.find(({ id }) => id === rule)?.verdict;
  }

  it("is checked with its other sources of tenants, and the report says why the rule about paths is not applicable", async () => {
    const report = await judge("swift", unserved, { reaches: ["TEN"] });
    expect(messagesOf(failures(report))).to.deep.equal([]);
    expect(verdictOf(report, "TEN-14")).to.deep.equal({ status: "not applicable", reason });
    for (const rule of ["TEN-1", "TEN-4", "TEN-6", "TEN-12"]) {
      expect(verdictOf(report, rule), rule).to.deep.equal({ status: "pass" });
    }
  });

  it("is checked only with the header when its sources are path and header", async () => {
    const report = await judge("anonymous", unserved, { reaches: ["TEN"] });
    expect(messagesOf(failures(report))).to.deep.equal([]);
    expect(verdictOf(report, "TEN-1")).to.deep.equal({ status: "pass" });
    expect(verdictOf(report, "TEN-12")).to.deep.equal({ status: "not applicable", reason });
  });
});
