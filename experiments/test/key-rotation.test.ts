import { expect } from "chai";
import type { Collected } from "../harness/report.ts";
import { keyRotation } from "../key-rotation.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("key-rotation", function () {
  this.timeout(120_000);

  let built: Collected;
  const broken = new Map<string, Collected>();

  // The runs mostly wait, so run all of them concurrently.
  before(async () => {
    const variant = async (name: string): Promise<void> => {
      broken.set(name, await quickRun(keyRotation, { variant: name }));
    };
    [built] = await Promise.all([quickRun(keyRotation), ...keyRotation.brokenVariants.map(variant)]);
  });

  it("ISS-14 ISS-15 accepts every valid token while keys are replaced, and publishes no private member", () => {
    expectHeld(built);
    expect(built.value("tokens", "accepted")).to.be.above(100);
    expect(built.value("key set", "polls")).to.be.above(20);
  });

  for (const [variant, rule] of [
    ["broken-promote-at-once", /no valid token is refused/],
    ["broken-retire-at-once", /no valid token is refused/],
    ["broken-private-members", /the key set has no private member/],
    ["broken-old-keys", /the verifier fetches the key set when it is due/],
  ] as const) {
    it(`fails with ${variant}`, () => {
      const report = broken.get(variant);
      if (report === undefined) throw new Error("the variant was not run");
      expectBroken(report, rule);
    });
  }
});
