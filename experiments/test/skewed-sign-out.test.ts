import { testProgram } from "@svc/dev-services";
import { skewedSignOut } from "../skewed-sign-out.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("skewed-sign-out", function () {
  this.timeout(120_000);
  testProgram("redis");

  it("ends older sessions and keeps newer ones on replicas whose clocks are 25 s off (REV-10)", async () => {
    expectHeld(await quickRun(skewedSignOut));
  });

  it("fails when each replica's own clock dates sign-ins and sign-outs", async () => {
    const report = await quickRun(skewedSignOut, { variant: "broken-local-clocks" });
    expectBroken(report, /begun 25 s ahead, ended on time: no older session is valid any more/);
    expectBroken(report, /every newer session is valid immediately/);
  });
});
