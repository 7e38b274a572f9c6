import { testDatabase } from "@svc/dev-services";
import { jsonBytes } from "@svc/sql";
import { expect } from "chai";
import pg from "pg";

describe("jsonBytes()", () => {
  const database = testDatabase({ name: "json bytes" });

  it("returns the length of the text in bytes when no number has an exponent, for strings of any content", () => {
    for (const value of [
      {},
      [1, -2.5, 1e20, 0.000001, true, false, null],
      { a: "1e308", b: 'say \\"1e300\\"', c: '\\\\" 1e300', "1e300": "1E+300" },
      ["é", "1e5", "\\", '"', "2e7\\"],
    ]) {
      const json = JSON.stringify(value);
      expect(jsonBytes(json), json).to.equal(Buffer.byteLength(json));
    }
    expect(jsonBytes('"1e5')).to.equal(4);
  });

  it("returns at least the size that PostgreSQL writes, not counting spaces", async () => {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    try {
      for (const json of [
        JSON.stringify(Array(100).fill(1e308)),
        JSON.stringify([
          Number.MAX_VALUE,
          -Number.MAX_VALUE,
          Number.MIN_VALUE,
          1e21,
          1.5e-7,
          -1e-19,
          123456.789e30,
        ]),
        JSON.stringify({ a: "x\\", b: 1e300, 'c"1e9': [{ d: 2.5e-300 }] }),
        "[1E+400, 1e-400, 10e100]",
        "1e300",
        '{"a":1e300\n}',
        '{"a":{"4e5":["4e5",[1e30]]}}',
      ]) {
        const { rows } = await client.query<{ text: string }>("select $1::jsonb::text as text", [json]);
        const written = rows[0]?.text.replaceAll(/([:,]) /g, "$1") ?? "";
        expect(jsonBytes(json)).to.be.within(written.length, written.length + 400 * 10);
        expect(jsonBytes(json)).to.be.greaterThan(Buffer.byteLength(json));
      }
    } finally {
      await client.end();
    }
  });
});
