import { testDatabase } from "@svc/dev-services";
import { InexactIntegerError, parseExactJson } from "@svc/sql";
import { expect } from "chai";
import { Client } from "pg";

const outside = "is an integer outside the safe range (-(2^53-1)..2^53-1); send it as a string";

function refusal(text: string): string {
  try {
    parseExactJson(text, "payload");
  } catch (error) {
    if (error instanceof InexactIntegerError) return error.message;
    throw error;
  }
  return "none";
}

describe("parseExactJson()", () => {
  const database = testDatabase({ name: "exact-json" });

  for (const [text, path] of [
    ["9007199254740993", "payload"],
    ["-9007199254740993", "payload"],
    ['{"order":{"id":12345678901234567890}}', "payload.order.id"],
    ['{"a":[1,{"b":[0,1700000000123456789]}]}', "payload.a[1].b[1]"],
    ['{"odd key":{"0":9007199254740995}}', 'payload["odd key"]["0"]'],
    ['{"__proto__":{"id":9007199254740993}}', "payload.__proto__.id"],
    ['{"id":9007199254740993,"other":9007199254740995}', "payload.id"],
    [`{"huge":${"9".repeat(400)}}`, "payload.huge"],
    ['{"constructor":9007199254740993}', "payload.constructor"],
    ['{"text":"1234567890123456","id":9007199254740993}', "payload.id"],
    ['{ "id" :\n\t9007199254740993 }', "payload.id"],
    ["[9007199254740993]", "payload[0]"],
    ["[1,9007199254740993]", "payload[1]"],
    [" -9007199254740993", "payload"],
  ] as const) {
    it(`rejects ${text.slice(0, 60)}, and names ${path} (JOB-33)`, () => {
      expect(refusal(text)).to.equal(`${path} ${outside}`);
    });
  }

  it("truncates the path of a member with a long name (JOB-33)", () => {
    const long = "x".repeat(10_000);
    expect(refusal(`{"${long}":{"${long}":9007199254740993}}`)).to.have.length.below(300 + outside.length);
    expect(refusal(`{"${long}-":{"${long}-":9007199254740993}}`)).to.have.length.below(500 + outside.length);
  });

  it("returns what JSON.parse returns when no integer would be rounded (JOB-33)", () => {
    for (const text of [
      "null",
      '"12345678901234567890"',
      '{"id":"12345678901234567890","n":9007199254740991}',
      "[9007199254740992,-9007199254740992,1152921504606846976,100000000000000000000]",
      "[0.1234567890123456789,1e300,1.5e-300,3.141592653589793238462643]",
      '{"__proto__":{"a":"1234567890123456"}}',
    ]) {
      expect(parseExactJson(text, "payload"), text).to.deep.equal(JSON.parse(text));
    }
    expect(Object.keys(parseExactJson('{"__proto__":"1234567890123456"}', "a") as object)).to.deep.equal([
      "__proto__",
    ]);
  });

  it("checks only the member named by the option `member` (EVT-11)", () => {
    const parse = (text: string): unknown => parseExactJson(text, "data", "data");
    const rounded = { seq: Number("9007199254740993"), data: { id: 1 } };
    expect(parse('{"seq":9007199254740993,"data":{"id":1}}')).to.deep.equal(rounded);
    expect(() => parse('{"seq":9007199254740993,"data":{"id":9007199254740993}}')).to.throw(
      `data.id ${outside}`,
    );
    expect(parse("[9007199254740993]")).to.deep.equal([Number("9007199254740993")]);
    expect(parse('{"id":9007199254740993}')).to.deep.equal({ id: Number("9007199254740993") });
    expect(parse("9007199254740993")).to.equal(Number("9007199254740993"));
  });

  it("rejects text that is not JSON with a SyntaxError", () => {
    expect(() => parseExactJson("{", "payload")).to.throw(SyntaxError);
    expect(() => parseExactJson("12345678901234567890,", "payload")).to.throw(SyntaxError);
  });

  it("accepts every number that JavaScript has written, even after a round trip through jsonb (JOB-33)", async () => {
    const client = new Client({ connectionString: database.url });
    await client.connect();
    await using _ = { [Symbol.asyncDispose]: () => client.end() };
    const bits = new DataView(new ArrayBuffer(8));
    let state = 1;
    const random = (): number => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0);
    const numbers = [
      Number.MAX_VALUE,
      -Number.MAX_VALUE,
      1e21,
      1e300,
      2 ** 53,
      2 ** 63,
      2 ** 64,
      1e20 + 2 ** 20,
    ];
    while (numbers.length < 2000) {
      bits.setUint32(0, random());
      bits.setUint32(4, random());
      const any = bits.getFloat64(0);
      // Skip tiny numbers: they have thousands of decimals in jsonb and test no integers.
      if (Number.isFinite(any) && Math.abs(any) > 1e-10) numbers.push(any, Math.trunc(any) || 0);
    }
    const { rows } = await client.query<{ text: string }>("select $1::jsonb::text as text", [
      JSON.stringify(numbers),
    ]);
    expect(parseExactJson(rows[0]?.text ?? "", "payload")).to.deep.equal(numbers);
  });

  it("rejects exactly the integers that JavaScript would round (JOB-33)", () => {
    for (let n = 2n ** 53n - 20n; n < 2n ** 53n + 20n; n++) {
      const isKept = BigInt(Number(n)) === n;
      expect(refusal(String(n)) === "none", String(n)).to.equal(isKept);
      expect(refusal(String(-n)) === "none", String(-n)).to.equal(isKept);
    }
  });
});
