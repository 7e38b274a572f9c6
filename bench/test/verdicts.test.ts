import { expect } from "chai";
import { conclude, judged, unbounded, type Verdict } from "../harness/verdicts.ts";

describe("conclude()", () => {
  function concluded(verdicts: readonly Verdict[], quick: boolean): { code: number; noted: string[] } {
    const noted: string[] = [];
    return { code: conclude(verdicts, { quick, note: (line) => void noted.push(line) }), noted };
  }

  const missed = judged(false, "a: 2, at most 1");
  const voided: Verdict = { mark: "VOID", text: "the control is at 1.2" };

  it("returns exit code 1 when a limit is exceeded or a group is void", () => {
    expect(concluded([judged(true, "a: 1, at most 1"), missed], false)).to.deep.equal({
      code: 1,
      noted: ["ok   a: 1, at most 1", "FAIL a: 2, at most 1"],
    });
    expect(concluded([voided], false).code).to.equal(1);
    expect(concluded([unbounded("a: 7"), { mark: "LESS", text: "b: 1" }], false)).to.deep.equal({
      code: 0,
      noted: ["     a: 7", "LESS b: 1"],
    });
  });

  it("reports results and checks no limits with --quick", () => {
    expect(concluded([missed, voided], true)).to.deep.equal({
      code: 0,
      noted: ["     a: 2, at most 1", "     the control is at 1.2", "--quick: bounds are not judged"],
    });
  });
});
