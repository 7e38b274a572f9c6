import { checkConformance, type ConformanceReport } from "@svc/conformance";
import { expect } from "chai";
import { resolveSettings } from "../src/resolve-settings.ts";
import { startHollow, systemRoutes } from "./support/hollow-service.ts";

describe("the probe `limited`", () => {
  /** Checks the rules on rate limits of a service without a limit, which has the route `/open`. */
  async function checked(request: string): Promise<ConformanceReport> {
    await using hollow = await startHollow({ routes: { ...systemRoutes, "/open": {} } });
    return await checkConformance({
      url: hollow.url,
      probes: {
        limited: { request, limit: 5 },
        limitStore: { break: "POST /break", restore: "POST /restore" },
      },
      only: ["ERR-20", "RATE-1", "RATE-2", "RATE-3", "RATE-4", "RATE-5"],
      house: true,
    });
  }

  it("fails only ERR-20 when the service admits twice the burst and ten requests more", async () => {
    const { findings } = await checked("/open");
    const [refusal, ...others] = findings.map(({ verdict }) => verdict);
    expect(refusal).to.deep.equal({ status: "fail", seen: "200 after 20 requests", expected: "429" });
    expect(others).to.deep.equal(others.map(() => ({ status: "not applicable", reason: "see ERR-20" })));
  });

  it("makes the rules on rate limits not applicable when its route does not exist", async () => {
    const { findings } = await checked("/missing");
    const reason = "the probe `limited` responds with 404";
    expect(findings.map(({ verdict }) => verdict)).to.deep.equal(
      findings.map(() => ({ status: "not applicable", reason })),
    );
  });

  it("declares the feature `rate_limit`, with the defaults of the contract", () => {
    const { features, probes } = resolveSettings({
      url: "http://localhost",
      probes: { limited: "/limited" },
    });
    expect([...features]).to.include("rate_limit");
    expect(probes.limited).to.deep.equal({ request: "/limited", limit: 100, windowSeconds: 60, burst: 100 });
  });
});
