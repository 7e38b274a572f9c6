import { testProgram } from "@svc/dev-services";
import type { Collected } from "../harness/report.ts";
import { refreshRace } from "../refresh-race.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("refresh-race", function () {
  this.timeout(120_000);
  testProgram("redis");

  let built: Collected;
  const broken = new Map<string, Collected>();

  // The runs mostly wait, so run all of them concurrently.
  before(async () => {
    const variant = async (name: string): Promise<void> => {
      broken.set(name, await quickRun(refreshRace, { variant: name, cases: 10 }));
    };
    [built] = await Promise.all([quickRun(refreshRace), ...refreshRace.brokenVariants.map(variant)]);
  });

  it("REF-4 REF-5 REF-6 REF-19 rotates a token once for many concurrent requests, and ends the session at a replay", () => {
    expectHeld(built);
  });

  for (const [variant, rule] of [
    ["broken-get-then-set", /one request of each round rotates the token/],
    ["broken-no-winner", /one request of each round rotates the token/],
    ["broken-no-nonce", /the winner still gets its pair/],
    ["broken-no-family", /the next request with either token/],
  ] as const) {
    it(`fails with ${variant}`, () => {
      const report = broken.get(variant);
      if (report === undefined) throw new Error("the variant was not run");
      expectBroken(report, rule);
    });
  }
});
