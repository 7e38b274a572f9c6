import { isTracestate, parseTraceparent } from "@svc/request-id";
import { expect } from "chai";
import fc from "fast-check";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";
const VALID = `00-${TRACE}-${PARENT}-01`;
const ZEROS = (count: number): string => "0".repeat(count);

describe("parseTraceparent", () => {
  it("COR-9 COR-10 returns a valid traceparent and tracestate unchanged", () => {
    for (const flags of ["00", "01", "02", "ff", "9a"]) {
      const traceparent = `00-${TRACE}-${PARENT}-${flags}`;
      expect(parseTraceparent(traceparent)).to.eql({ traceId: TRACE, traceparent, tracestate: undefined });
    }
    expect(parseTraceparent(`00-${ZEROS(31)}1-${ZEROS(15)}1-00`)?.traceId).to.equal(`${ZEROS(31)}1`);
  });

  for (const [what, value] of Object.entries({
    "version 01": `01-${TRACE}-${PARENT}-01`,
    "version cc": `cc-${TRACE}-${PARENT}-01`,
    "version ff": `ff-${TRACE}-${PARENT}-01`,
    "a version of one digit": `0-${TRACE}-${PARENT}-01`,
    "a missing version": `${TRACE}-${PARENT}-01`,
    "a trace id of zeros": `00-${ZEROS(32)}-${PARENT}-01`,
    "a parent id of zeros": `00-${TRACE}-${ZEROS(16)}-01`,
    "an upper-case trace id": `00-${TRACE.toUpperCase()}-${PARENT}-01`,
    "an upper-case parent id": `00-${TRACE}-${PARENT.toUpperCase()}-01`,
    "upper-case flags": `00-${TRACE}-${PARENT}-0A`,
    "a letter that is not a hex digit": `00-${TRACE.replace("a", "g")}-${PARENT}-01`,
    "a character below the digits": `00-${TRACE.replace("a", "/")}-${PARENT}-01`,
    "a character above the digits": `00-${TRACE.replace("a", ":")}-${PARENT}-01`,
    "a character below the letters": `00-${TRACE.replace("a", "`")}-${PARENT}-01`,
    "a short trace id": `00-${TRACE.slice(1)}-${PARENT}-01`,
    "a long trace id": `00-${TRACE}0-${PARENT}-01`,
    "a short parent id": `00-${TRACE}-${PARENT.slice(1)}-01`,
    "flags of one digit": `00-${TRACE}-${PARENT}-1`,
    "flags of three digits": `00-${TRACE}-${PARENT}-001`,
    "missing flags": `00-${TRACE}-${PARENT}`,
    "a fifth part": `${VALID}-what`,
    "a dash at the end": `${VALID}-`,
    "a leading space": ` ${VALID}`,
    "a trailing space": `${VALID} `,
    "a trailing line break": `${VALID}\n`,
    "underscores as separators": VALID.replaceAll("-", "_"),
    "a dash in the wrong place": `00-${TRACE.slice(0, 31)}-${TRACE.slice(31)}${PARENT}-01`,
    "two joined values": `${VALID}, ${VALID}`,
    "an empty string": "",
  })) {
    it(`COR-10 COR-11 returns undefined for ${what}, even with a valid tracestate`, () => {
      expect(parseTraceparent(value, "a=1")).to.equal(undefined);
    });
  }

  it("COR-9 returns undefined without a header", () => {
    expect(parseTraceparent(undefined, "a=1")).to.equal(undefined);
  });

  it("COR-10 accepts exactly the strings that match the reference pattern, among mutated and random strings", () => {
    const definition = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
    const spoiled = fc
      .tuple(fc.nat(54), fc.constantFrom(..."0123456789abcdefABFGg-:/`\n\u00e9 ".split("")))
      .map(([place, char]) => VALID.slice(0, place) + char + VALID.slice(place + 1));
    fc.assert(
      fc.property(fc.oneof(spoiled, fc.string({ minLength: 55, maxLength: 55 })), (value) => {
        expect(parseTraceparent(value) !== undefined).to.equal(definition.test(value));
      }),
      { numRuns: 2_000 },
    );
  });

  it("COR-9 keeps a valid traceparent when the tracestate is invalid", () => {
    for (const tracestate of ["", "no value", "A=1", "a=1,b", `a=${"x".repeat(511)}`]) {
      expect(parseTraceparent(VALID, tracestate)).to.eql({
        traceId: TRACE,
        traceparent: VALID,
        tracestate: undefined,
      });
    }
  });

  it("COR-15 keeps a valid tracestate unchanged, including white space and empty members", () => {
    for (const tracestate of ["a=1", "a=1,b=2", " a=1 ,\tb=2,, ", "a=1,a=2", "t@s=a b"]) {
      expect(parseTraceparent(VALID, tracestate)?.tracestate).to.equal(tracestate);
    }
  });
});

describe("isTracestate", () => {
  const members = (count: number): string => Array.from({ length: count }, (_, n) => `k${n}=v`).join(",");

  it("COR-9 accepts only keys of lower-case letters, digits, _ - * / @ that begin with a letter or digit", () => {
    for (const key of ["a", "0", "a_-*/@z", "foo@", "1a@b", "k".repeat(256)]) {
      expect(isTracestate(`${key}=1`), key).to.equal(true);
    }
    for (const key of ["", "@foo", "_a", "-a", "A", "a b", "a.b", "a:b", "\u00e9", "k".repeat(257)]) {
      expect(isTracestate(`${key}=1`), key).to.equal(false);
    }
  });

  it("COR-9 accepts only values of 1 to 256 printable characters without a comma or an equals sign", () => {
    for (const value of ["1", "a b", " a", "~!;:", "v".repeat(256)]) {
      expect(isTracestate(`k=${value}`), value).to.equal(true);
    }
    for (const value of ["", " ", "a=b", "a\tb", "a\u007f", "\u00e9", "a\n", "v".repeat(257)]) {
      expect(isTracestate(`k=${value}`), value).to.equal(false);
    }
  });

  it("COR-9 accepts empty members, and white space around members, but rejects an empty list", () => {
    for (const value of [" a=1 ", "\ta=1\t,\t b=2", "a=1,", ",a=1", "a=1,,b=2", " , a=1"]) {
      expect(isTracestate(value), value).to.equal(true);
    }
    for (const value of ["", " ", ",", " , ,"]) expect(isTracestate(value), value).to.equal(false);
  });

  it("COR-9 accepts up to 32 members and 512 characters, and rejects more", () => {
    expect(isTracestate(members(32))).to.equal(true);
    expect(isTracestate(members(33))).to.equal(false);
    const long = `a=${"v".repeat(250)},b=${"v".repeat(250)},c=1234`;
    expect(long).to.have.length(512);
    expect(isTracestate(long)).to.equal(true);
    expect(isTracestate(`${long}5`)).to.equal(false);
  });

  it("COR-9 rejects headers of 100 KB in at most linear time", () => {
    // Only a check in linear time finishes a thousand inputs of 100 KB before the test's time limit.
    for (const unit of ["a", "a=", "a=1,", " ", ",", "a= ", "\t", "=", "00-"]) {
      const attack = unit.repeat(Math.ceil(100_000 / unit.length));
      for (let turn = 0; turn < 1_000; turn++)
        expect(isTracestate(attack) || parseTraceparent(attack, attack)).to.be.oneOf([false, undefined]);
    }
  });
});
