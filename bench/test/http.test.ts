import { fileURLToPath } from "node:url";
import { expect } from "chai";
import type { Measured } from "../harness/rounds.ts";
import { casesAgainst, verdictsAgainst } from "../http/against.ts";
import { bounds, verdictsOf } from "../http/bounds.ts";
import { httpCases } from "../http/cases.ts";

function measuredWith(ratios: Readonly<Record<string, number>>): Measured {
  const costs = { "bare-express5": 10, "bare-express5-rs256": 30, ...ratios };
  return new Map(Object.entries(costs).map(([name, cost]) => [name, [cost, cost, cost]]));
}

describe("the bounds of the http benchmark", () => {
  it("name only existing cases", () => {
    const names = httpCases.map(({ name }) => name);
    expect(names).to.include.members(bounds.flatMap(({ name, base }) => [name, base]));
  });

  it("accept a ratio equal to the bound and reject a larger ratio", () => {
    const [kept] = verdictsOf(measuredWith({ "svc-express": 8.5 }));
    expect(kept).to.deep.equal({
      line: "ok   svc-express: 0.850 x bare-express5, bound at most 0.85",
      broken: false,
    });
    const [broken] = verdictsOf(measuredWith({ "svc-express": 8.6 }));
    expect(broken).to.deep.equal({
      line: "FAIL svc-express: 0.860 x bare-express5, bound at most 0.85",
      broken: true,
    });
  });

  it("compare with the case that they name", () => {
    const [verdict] = verdictsOf(measuredWith({ "svc-full-rs256-unseen": 36 }));
    expect(verdict?.line).to.equal(
      "ok   svc-full-rs256-unseen: 1.200 x bare-express5-rs256, bound at most 1.25",
    );
  });

  it("fail for a case without results, and are omitted for cases that were not measured", () => {
    expect(verdictsOf(measuredWith({}))).to.deep.equal([]);
    const empty: Measured = new Map([...measuredWith({}), ["svc-express", []]]);
    expect(verdictsOf(empty)[0]?.broken).to.equal(true);
  });
});

describe("the http benchmark compared with another checkout", () => {
  const directory = fileURLToPath(new URL("../..", import.meta.url));

  it("measures each case of these packages once in this checkout and twice in the other, without peers", () => {
    const names = casesAgainst(directory, ["svc-express", "fastify"]).map(({ name }) => name);
    expect(names).to.deep.equal([
      "bare-express5",
      "svc-express (base)",
      "svc-express",
      "svc-express (base) again",
      "control",
      "control-2",
    ]);
  });

  it("rejects a directory that is not a checkout", () => {
    expect(() => casesAgainst("nowhere", undefined)).to.throw(/--base must be a checkout.*it is nowhere/);
  });

  it("accepts a ratio equal to the bound, and rejects a larger ratio or declares it void when the control is out of range", () => {
    const verdictOf = (cost: number, again: number): string | undefined =>
      verdictsAgainst(
        new Map([
          ["svc-full", [cost]],
          ["svc-full (base)", [100]],
          ["svc-full (base) again", [again]],
        ]),
      ).map(({ mark }) => mark)[0];
    expect(verdictOf(103, 100)).to.equal("ok");
    expect(verdictOf(104, 100)).to.equal("FAIL");
    expect(verdictOf(104, 110)).to.equal("VOID");
    expect(verdictOf(100, 110)).to.equal("ok");
  });
});
