import { upstreamFaults } from "../upstream-faults.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("upstream-faults", function () {
  this.timeout(120_000);

  it("HTTP-2 HTTP-3 ends calls in time, within the budget of retries, and recovers", async () => {
    expectHeld(await quickRun(upstreamFaults, { only: "client" }));
  });

  it("fails when a POST is sent again", async () => {
    expectBroken(await quickRun(upstreamFaults, { variant: "broken-retries-posts" }), /POST arrives twice/);
  });

  it("fails when retries have no budget", async () => {
    expectBroken(
      await quickRun(upstreamFaults, { variant: "broken-no-budget" }),
      /retries are in their budget/,
    );
  });

  it("ends calls through a gateway in time, sends none twice, and forwards no smuggled request", async () => {
    expectHeld(await quickRun(upstreamFaults, { only: "gateway" }));
  });

  it("fails when a gateway sends a POST again", async () => {
    expectBroken(
      await quickRun(upstreamFaults, { variant: "broken-gateway-retries-posts" }),
      /gateway, 500: no request arrives twice/,
    );
  });
});
