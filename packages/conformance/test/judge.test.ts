import { expect } from "chai";
import { isInDoubt } from "./support/judge.ts";

describe("a judgement of a service that is broken on purpose", () => {
  it("stands, whatever failed, when the process was there all the time", () => {
    expect(isInDoubt([], "ERR-1", 100)).to.equal(false);
    expect(isInDoubt(["ERR-1"], "ERR-1", 100)).to.equal(false);
    expect(isInDoubt(["ERR-1", "COR-2"], "ERR-1", 249)).to.equal(false);
    expect(isInDoubt(["RDY-10", "COR-2"], "ERR-1", 0)).to.equal(false);
    expect(isInDoubt(["RDY-10"], "RDY-10", 0)).to.equal(false);
  });

  it("is in doubt when the process was held up, also where nothing failed that should have", () => {
    expect(isInDoubt([], "ERR-1", 250)).to.equal(true);
    expect(isInDoubt(["ERR-1"], "ERR-1", 250)).to.equal(true);
    expect(isInDoubt(["ERR-1", "COR-2"], undefined, 300)).to.equal(true);
  });

  it("is in doubt when a report that came late is all that is wrong beside", () => {
    expect(isInDoubt(["RDY-10"], undefined, 0)).to.equal(true);
    expect(isInDoubt(["ERR-1", "RDY-10"], "ERR-1", 0)).to.equal(true);
  });
});
