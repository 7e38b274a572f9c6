import { expect } from "chai";
import { stopUnderLoad } from "../stop-under-load.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("stop-under-load", function () {
  this.timeout(120_000);

  it("RDY-20 responds to every request of a load balancer that polls /ready", async () => {
    const report = await quickRun(stopUnderLoad, { only: "balancer" });
    expectHeld(report);
    expect(report.value("keep-alive", "requests")).to.be.above(100);
    expect(report.value("new connection each", "requests")).to.be.above(100);
  });

  it("fails without a drain delay", async () => {
    const report = await quickRun(stopUnderLoad, { variant: "broken-no-drain-delay" });
    expectBroken(report, /no request fails/);
  });

  it("fails for a server that exits immediately", async () => {
    const report = await quickRun(stopUnderLoad, { variant: "broken-exit-at-once" });
    expectBroken(report, /no request fails/);
    expectBroken(report, /phases/);
  });

  it("responds to every request through a gateway while replicas restart, and executes each POST once", async () => {
    const report = await quickRun(stopUnderLoad, { only: "gateway" });
    expectHeld(report);
    expect(report.value("gateway", "POSTs")).to.be.above(100);
  });

  it("fails through a gateway for servers that exit immediately", async () => {
    const report = await quickRun(stopUnderLoad, { variant: "broken-gateway-exit-at-once" });
    expectBroken(report, /gateway: no request fails/);
  });
});
