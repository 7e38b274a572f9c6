import { expect } from "chai";
import { checkConformance } from "@svc/conformance";
import { showLine } from "../src/show.ts";
import { startHollow } from "./support/hollow-service.ts";

describe("a log line that is not a single JSON object", () => {
  const first = { message: 'a } and a " in a string', nested: { list: [{}] }, filler: "x".repeat(900) };
  const second = { message: "the second" };

  it("is shortened to the start of both objects when it contains two", () => {
    const shown = showLine(`${JSON.stringify(first)}${JSON.stringify(second)}`);
    expect(shown)
      .to.match(/^more than one object on one line: \{"message":"a \} and a \\" in a string"/)
      .and.match(/x\.\.\. followed by \{"message":"the second"\}$/);
    expect(shown).to.have.length.below(600);
  });

  for (const line of ["plain text", '{"open": ', '{"a":1', "} {", '["a"]']) {
    it(`is shown in full: ${line}`, () => {
      expect(showLine(line)).to.equal(JSON.stringify(line));
    });
  }

  it("is quoted in the report with the start of both objects when it contains two", async () => {
    await using hollow = await startHollow();
    const log = (): string => `${JSON.stringify(first)}${JSON.stringify(second)}\n`;
    const { findings } = await checkConformance({ url: hollow.url, log, only: ["LOG-1"] });
    expect(findings[0]?.verdict)
      .to.have.property("seen")
      .that.contains('followed by {"message":"the second"}');
  });
});
