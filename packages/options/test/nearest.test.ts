import { nearestName } from "@svc/options";
import { expect } from "chai";
import fc from "fast-check";

const known = ["maxAge", "limitBytes", "strict", "env"];

describe("nearestName", () => {
  for (const [given, expected] of [
    ["maxage", "maxAge"],
    ["max-age", "maxAge"],
    ["MAX_AGE", "maxAge"],
    ["limitByte", "limitBytes"],
    ["limtBytes", "limitBytes"],
    ["strit", "strict"],
    ["evn", "env"],
    ["xyz", undefined],
    ["enw", "env"],
    ["zebra", undefined],
    ["x", undefined],
    ["", undefined],
    ["-", undefined],
  ] as const) {
    it(`returns ${String(expected)} for ${JSON.stringify(given)}`, () => {
      expect(nearestName(given, known)).to.equal(expected);
    });
  }

  it("returns undefined immediately for a very long name", () => {
    expect(nearestName("maxAge".repeat(100_000), known)).to.equal(undefined);
    expect(nearestName("maxAge", ["maxAge".repeat(100_000)])).to.equal(undefined);
  });

  it("finds every known name, and every name of sufficient length with one letter dropped", () => {
    const name = fc.stringMatching(/^[a-z]{4,12}$/);
    fc.assert(
      fc.property(name, fc.nat(), (word, at) => {
        expect(nearestName(word, [word, "another"])).to.equal(word);
        const index = at % word.length;
        const slip = word.slice(0, index) + word.slice(index + 1);
        expect(nearestName(slip, [word])).to.equal(word);
      }),
    );
  });
});
