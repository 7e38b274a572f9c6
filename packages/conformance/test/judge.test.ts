import { expect } from "chai";
import { isInDoubt } from "./support/judge.ts";

describe("the verdict on a deliberately broken service", () => {
  it("stands when other rules failed too", () => {
    expect(isInDoubt([], "ERR-1")).to.equal(false);
    expect(isInDoubt(["ERR-1"], "ERR-1")).to.equal(false);
    expect(isInDoubt(["ERR-1", "COR-2"], "ERR-1")).to.equal(false);
    expect(isInDoubt(["RDY-10", "COR-2"], "ERR-1")).to.equal(false);
    expect(isInDoubt(["RDY-10"], "RDY-10")).to.equal(false);
  });

  it("is in doubt when the only other failure is a late report", () => {
    expect(isInDoubt(["RDY-10"], undefined)).to.equal(true);
    expect(isInDoubt(["ERR-1", "RDY-10"], "ERR-1")).to.equal(true);
  });
});
