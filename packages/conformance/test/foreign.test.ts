import { checkConformance } from "@svc/conformance";
import { expect } from "chai";
import { privatePem } from "./support/bases.ts";
import { startForeign } from "./support/foreign-service.ts";
import { failures, told } from "./support/judge.ts";

describe("a service that is not of this house", () => {
  const options = {
    features: ["auth"] as const,
    keys: { algorithm: "RS256", privateKey: privatePem, audience: "foreign" } as const,
    probes: {
      open: "/open",
      protected: "/mine",
      scoped: { request: "/orders", scopes: ["read", "write"] },
      failing: { request: "/failing", message: "a secret of the service" },
    },
  };

  it("conforms when it keeps the contract and none of the choices of the house", async () => {
    await using foreign = await startForeign();
    const report = await checkConformance({ ...options, url: foreign.url });
    expect(told(failures(report))).to.deep.equal([]);
    expect(report.passed).to.be.above(25);
    expect(report.conforms).to.equal(true);
  });

  it("hears about the choices when it asks for them", async () => {
    await using foreign = await startForeign();
    const report = await checkConformance({ ...options, url: foreign.url, house: true });
    const failed = failures(report);
    expect(failed.map(({ source }) => source))
      .to.include("house")
      .and.not.include("contract");
    expect(failed.map(({ id }) => id)).to.include.members(["COR-8", "ERR-4", "ERR-10", "ERR-12", "AUTH-21"]);
    expect(report.conforms).to.equal(false);
  });

  it("is checked for the rules that are asked for alone, those of the house included", async () => {
    await using foreign = await startForeign();
    const report = await checkConformance({ ...options, url: foreign.url, only: ["SYS-1", "COR-8"] });
    expect(report.findings.map(({ id, verdict }) => [id, verdict.status])).to.deep.equal([
      ["SYS-1", "pass"],
      ["COR-8", "fail"],
    ]);
  });
});
