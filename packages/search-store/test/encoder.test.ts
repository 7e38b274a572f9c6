import { expect } from "chai";
import { COPY_HEADER, COPY_TRAILER, createEncoder, halfBits } from "../src/bulk/encoder.ts";

/** Returns the number that 16 bits of half precision represent. */
function halfValue(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >>> 10) & 0x1f;
  const mantissa = bits & 0x3ff;
  return sign * (exponent === 0 ? mantissa * 2 ** -24 : (1024 + mantissa) * 2 ** (exponent - 25));
}

describe("numbers in half precision", () => {
  it("are unchanged if half precision can represent them", () => {
    const wrong: number[] = [];
    for (let bits = 0; bits < 0x1_0000; bits++) {
      // All except infinities and NaN.
      if ((bits & 0x7c00) !== 0x7c00 && halfBits(halfValue(bits)) !== bits) wrong.push(bits);
    }
    expect(wrong).to.deep.equal([]);
  });

  it("are rounded to the nearest value, with ties to even", () => {
    for (let bits = 0; bits < 0x7bff; bits += 31) {
      const [low, high] = [halfValue(bits), halfValue(bits + 1)];
      expect(halfBits(low + (high - low) * 0.49), `above ${low}`).to.equal(bits);
      expect(halfBits(low + (high - low) * 0.51), `below ${high}`).to.equal(bits + 1);
      expect(halfBits((low + high) / 2), `after ${low}`).to.equal(bits + (bits & 1));
    }
    expect(halfBits(2 ** -25)).to.equal(0);
    expect(halfBits(2 ** -25 * 1.001)).to.equal(1);
    expect(halfBits(-1e-30)).to.equal(0x8000);
    expect(halfBits(65_504)).to.equal(0x7bff);
  });
});

describe("rows of a binary COPY", () => {
  const row = {
    documentId: "é",
    ordinal: 258,
    content: "hi",
    hash: "ab".repeat(32),
    meta: '{"a":1}',
    embedding: [1, -2, 0.5],
  };

  it("consist of their fields in order, each with its length and bytes", () => {
    const bytes = createEncoder("t", "half")([row]);
    const expected = Buffer.concat([
      Buffer.from([0, 7]),
      Buffer.from([0, 0, 0, 1, 0x74]),
      Buffer.from([0, 0, 0, 2, 0xc3, 0xa9]),
      Buffer.from([0, 0, 0, 4, 0, 0, 1, 2]),
      Buffer.from([0, 0, 0, 2, 0x68, 0x69]),
      Buffer.from([0, 0, 0, 32, ...Array.from({ length: 32 }, () => 0xab)]),
      Buffer.from([0, 0, 0, 8, 1, ...Buffer.from('{"a":1}')]),
      Buffer.from([0, 0, 0, 10, 0, 3, 0, 0, 0x3c, 0x00, 0xc0, 0x00, 0x38, 0x00]),
    ]);
    expect(bytes.toString("hex")).to.equal(expected.toString("hex"));
  });

  it("have four bytes per number in full precision", () => {
    const bytes = createEncoder("t", "full")([{ ...row, embedding: new Float32Array([1, -2]) }]);
    expect(bytes.subarray(-16).toString("hex")).to.equal(
      "0000000c" + "0002" + "0000" + "3f800000" + "c0000000",
    );
  });

  it("store -0 as 0, as the text format does", () => {
    for (const precision of ["half", "full"] as const) {
      const encode = createEncoder("t", precision);
      const [minus, plain] = [
        [1, -0],
        [1, 0],
      ].map((embedding) => encode([{ ...row, embedding }]).toString("hex"));
      expect(minus).to.equal(plain);
    }
  });

  it("follow each other between the header and the trailer", () => {
    const encode = createEncoder("t", "half");
    expect(encode([row, row]).equals(Buffer.concat([encode([row]), encode([row])]))).to.equal(true);
    expect(COPY_HEADER.toString("latin1")).to.equal("PGCOPY\n\xff\r\n\0" + "\0".repeat(8));
    expect(COPY_TRAILER.readInt16BE()).to.equal(-1);
  });
});
