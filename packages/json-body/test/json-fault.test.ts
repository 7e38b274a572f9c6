import { expect } from "chai";
import { faultPosition } from "../src/json-fault.ts";

function positionByParser(text: string): number | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    const found = /at position (\d+)/.exec((error as Error).message)?.[1];
    return found === undefined ? -1 : Number(found);
  }
}

describe("the position of the fault in malformed JSON", () => {
  const cases: Readonly<Record<string, number>> = {
    "": 0,
    " ": 1,
    "{": 1,
    "{,": 1,
    '{"a"': 4,
    '{"a" 1': 5,
    '{"a":': 5,
    '{"a":1,}': 7,
    "[1,]": 3,
    "[1 2": 3,
    "[1]]": 3,
    nul: 3,
    nulL: 3,
    "-": 1,
    "01": 1,
    "1.": 2,
    "1e+": 3,
    '"a': 2,
    '"\\x"': 2,
    '"\\u00g0"': 5,
    '"\t"': 1,
    "{}x": 2,
  };
  for (const [text, position] of Object.entries(cases)) {
    it(`ERR-19 is ${position} in ${JSON.stringify(text)}`, () => {
      expect(faultPosition(text)).to.equal(position);
    });
  }

  it("ERR-19 equals the parser's position, if its message has one, and is always within the string", () => {
    const good = '{"a":[1,-2.5e3,"x\\u00e9\\n",{"b":null}],"c":{"d":true,"e":[]}, "f" : false}';
    let compared = 0;
    for (let index = 0; index <= good.length; index += 1) {
      for (const insert of ["", "]", "}", '"', ",", ":", "x", "1", "\\", "\n", "-", "["]) {
        for (const drop of [0, 1, 2]) {
          const text = good.slice(0, index) + insert + good.slice(index + drop);
          const expected = positionByParser(text);
          if (expected === undefined) continue;
          const position = faultPosition(text);
          expect(position, text).to.be.within(0, text.length);
          if (expected === -1) continue;
          compared += 1;
          expect(position, text).to.equal(expected);
        }
      }
    }
    expect(compared).to.be.greaterThan(500);
  });
});
