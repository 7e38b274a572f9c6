import { expect } from "chai";
import { logPressure } from "../log-pressure.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("log-pressure", function () {
  this.timeout(120_000);

  it("LOG-1 responds while its output is not read, reports lost lines, and keeps running after its output is closed", async () => {
    const report = await quickRun(logPressure);
    expectHeld(report);
    expect(report.value("read again", "lines lost without a report")).to.equal(0);
  });

  it("fails when lines are queued without limit", async () => {
    expectBroken(await quickRun(logPressure, { variant: "broken-unbounded" }), /memory grows/);
  });

  it("fails when requests wait for their lines to be written", async () => {
    expectBroken(await quickRun(logPressure, { variant: "broken-blocking" }), /requests are answered/);
  });
});
