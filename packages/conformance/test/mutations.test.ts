import { expect } from "chai";
import { checks } from "../src/checks/index.ts";
import { issuingMutations, mutations } from "./mutations.ts";
import { type BaseName, bases } from "./support/bases.ts";
import { judgesMutations } from "./support/mutation-suite.ts";

const isIssuing = (name: BaseName): boolean => "sessions" in bases[name];
const names = (Object.keys(bases) as BaseName[]).filter((name) => !isIssuing(name));

describe("the kit against services that break one rule", function () {
  this.timeout(180_000);
  judgesMutations({ names, mutations: mutations(), contractOnly: "full", minPassed: 70 });

  it("is tested with a broken service for every check", () => {
    const broken = new Set([...mutations(), ...issuingMutations()].map(({ rule }) => rule));
    expect(checks.map(({ rule }) => rule).filter((rule) => !broken.has(rule))).to.deep.equal([]);
  });
});
