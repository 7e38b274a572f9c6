import { expect } from "chai";
import { createSpanOfStatement } from "../src/sql/span-of-statement.ts";

describe("createSpanOfStatement()", () => {
  it("names the span by operation and table, else by operation, else SQL", () => {
    const spanOfStatement = createSpanOfStatement(false);
    const names = ["select * from t", "begin", "what"].map((text) => spanOfStatement(text).name);
    expect(names).to.deep.equal(["SELECT t", "BEGIN", "SQL"]);
  });

  it("caches the descriptions of the last 1,000 statements without literals", () => {
    const spanOfStatement = createSpanOfStatement(false);
    const texts = Array.from({ length: 1001 }, (_, index) => `select a from t${index}`);
    const described = texts.map((text) => spanOfStatement(text));
    expect(spanOfStatement("select a from t1000")).to.equal(described[1000]);
    expect(spanOfStatement("select a from t1")).to.equal(described[1]);
    expect(spanOfStatement("select a from t0")).to.not.equal(described[0]);
    expect(spanOfStatement("select a from t1")).to.not.equal(described[1]);
  });

  it("caches the descriptions of the last 100 statements with literals, which displace no others", () => {
    const spanOfStatement = createSpanOfStatement(true);
    const plain = spanOfStatement("select a from t");
    const texts = Array.from({ length: 101 }, (_, index) => `select a from t where b = ${index} or b = 'c'`);
    const described = texts.map((text) => spanOfStatement(text));
    expect(spanOfStatement(texts[100] ?? "")).to.equal(described[100]);
    expect(spanOfStatement(texts[1] ?? "")).to.equal(described[1]);
    expect(spanOfStatement(texts[0] ?? "")).to.not.equal(described[0]);
    expect(described[0]?.attributes["db.statement"]).to.equal("select a from t where b = ? or b = ?");
    for (let index = 0; index < 2000; index++) spanOfStatement(`select ${index}`);
    expect(spanOfStatement("select a from t")).to.equal(plain);
  });

  it("does not cache the description of a statement of more than 10,000 characters", () => {
    const spanOfStatement = createSpanOfStatement(true);
    const text = `select ${"a, ".repeat(5000)} b from t`;
    expect(spanOfStatement(text)).to.deep.equal(spanOfStatement(text));
    expect(spanOfStatement(text)).to.not.equal(spanOfStatement(text));
  });
});
