import { expect } from "chai";
import { createSpanOfStatement } from "../src/sql/span-of-statement.ts";

describe("createSpanOfStatement()", () => {
  it("names the span by operation and table, by operation, or SQL", () => {
    const spanOfStatement = createSpanOfStatement(false);
    const names = ["select * from t", "begin", "what"].map((text) => spanOfStatement(text).name);
    expect(names).to.deep.equal(["SELECT t", "BEGIN", "SQL"]);
  });

  it("keeps the descriptions of the last 1,000 statements", () => {
    const spanOfStatement = createSpanOfStatement(false);
    const texts = Array.from({ length: 1001 }, (_, index) => `select a from t${index}`);
    const described = texts.map((text) => spanOfStatement(text));
    expect(spanOfStatement("select a from t1000")).to.equal(described[1000]);
    expect(spanOfStatement("select a from t1")).to.equal(described[1]);
    expect(spanOfStatement("select a from t0")).to.not.equal(described[0]);
    expect(spanOfStatement("select a from t1")).to.not.equal(described[1]);
  });

  for (const [name, text] of [
    ["with a value", "select a from t where b = 'c'"],
    ["with a number", "select a from t where b = 1"],
    ["of more than 10,000 characters", `select ${"a, ".repeat(5000)} b from t`],
  ] as const) {
    it(`does not keep the description of a statement ${name}`, () => {
      const spanOfStatement = createSpanOfStatement(true);
      expect(spanOfStatement(text)).to.deep.equal(spanOfStatement(text));
      expect(spanOfStatement(text)).to.not.equal(spanOfStatement(text));
    });
  }
});
