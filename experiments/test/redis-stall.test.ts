import { testProgram } from "@svc/dev-services";
import { redisStall } from "../redis-stall.ts";
import type { Collected } from "../harness/report.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("redis-stall", function () {
  this.timeout(120_000);
  testProgram("redis");

  let built: Collected;
  let noBreaker: Collected;
  let noDeadline: Collected;

  // The runs mostly wait, so run all of them concurrently.
  before(async () => {
    [built, noBreaker, noDeadline] = await Promise.all([
      quickRun(redisStall),
      quickRun(redisStall, { variant: "broken-no-breaker" }),
      quickRun(redisStall, { variant: "broken-no-deadline" }),
    ]);
  });

  it("REV-4 REV-5 REV-7 REV-8 REF-17 ISS-17 RDY-22 keeps every deadline while Redis is frozen or killed, and recovers", () => {
    expectHeld(built);
  });

  it("fails when every request waits for a Redis that does not respond", () => {
    expectBroken(noBreaker, /no client waits twice within a window/);
  });

  it("fails when a request waits for Redis without a deadline", () => {
    expectBroken(noDeadline, /no request waits longer/);
  });
});
