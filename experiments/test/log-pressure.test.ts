import { expect } from "chai";
import { logPressure } from "../log-pressure.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("log-pressure", function () {
  this.timeout(120_000);

  it("LOG-1 goes on serving while nobody reads its log, says what was lost, and survives its end", async () => {
    const report = await quickRun(logPressure);
    expectHeld(report);
    expect(report.value("read again", "lines lost without a word")).to.equal(0);
  });

  it("fails when lines are queued without bound", async () => {
    expectBroken(await quickRun(logPressure, { variant: "broken-unbounded" }), /memory grows/);
  });

  it("fails when lines are written and waited for", async () => {
    expectBroken(await quickRun(logPressure, { variant: "broken-blocking" }), /requests are answered/);
  });
});
