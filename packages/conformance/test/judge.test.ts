import { expect } from "chai";
import { isInDoubt } from "./support/judge.ts";

describe("a judgement of a service that is broken on purpose", () => {
  it("stands, whatever failed beside", () => {
    expect(isInDoubt([], "ERR-1")).to.equal(false);
    expect(isInDoubt(["ERR-1"], "ERR-1")).to.equal(false);
    expect(isInDoubt(["ERR-1", "COR-2"], "ERR-1")).to.equal(false);
    expect(isInDoubt(["RDY-10", "COR-2"], "ERR-1")).to.equal(false);
    expect(isInDoubt(["RDY-10"], "RDY-10")).to.equal(false);
  });

  it("is in doubt when a report that came late is all that is wrong beside", () => {
    expect(isInDoubt(["RDY-10"], undefined)).to.equal(true);
    expect(isInDoubt(["ERR-1", "RDY-10"], "ERR-1")).to.equal(true);
  });
});
