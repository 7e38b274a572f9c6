import { chunks } from "@svc/search-store";
import { ConfigurationError } from "@svc/options";
import { expect } from "chai";
import fc from "fast-check";
import { growth } from "./support/growth.ts";
import { searchedBy } from "./support/searched.ts";

/** Texts with every kind of boundary, long words and surrogate pairs. */
const pieces = [
  "a",
  "bb",
  "word",
  " ",
  "  ",
  "\n",
  "\n\n",
  "\r\n\r\n",
  ". ",
  "! ",
  "。",
  "😀",
  "é",
  "x".repeat(40),
];
const texts = fc
  .oneof(
    fc.array(fc.constantFrom(...pieces), { maxLength: 60, size: "max" }),
    fc.array(fc.string({ unit: "grapheme" }), { maxLength: 20, size: "max" }),
  )
  .map((parts) => parts.join(""));
const sizes = fc
  .record({ size: fc.integer({ min: 16, max: 80 }), share: fc.double({ min: 0, max: 0.95, noNaN: true }) })
  .map(({ size, share }) => ({ size, overlap: Math.floor(size * share) }));

/** Returns the text with distinct letters, so that the position of a section is known; surrogate pairs remain pairs. */
function unique(text: string): string {
  let count = 0;
  return text.replaceAll(/[^\s.!。]/gu, (letter) =>
    String.fromCodePoint((letter.length === 1 ? 0x4e00 : 0x20000) + count++),
  );
}

const bare = (text: string): string => text.replaceAll(/\s+/g, "");

describe("chunks()", () => {
  it("reads a long word once, however large the overlap is", () => {
    const length = 8000;
    const searched = searchedBy(() => void chunks("x".repeat(length), { size: 2000, overlap: 1998 }));
    // Once for each of the four kinds of boundaries, and once for the starts of words.
    expect(searched).to.be.within(length, 5 * length);
    const found = chunks("x".repeat(400_000), { size: 100_000, overlap: 99_998 });
    expect(found).to.have.lengthOf(150_001);
  }).timeout(5000);

  it("rejects a text that is not a string", () => {
    for (const text of [5, null, undefined, ["a"]]) {
      expect(() => chunks(text as never)).to.throw(TypeError, "chunks() needs a string; it is a");
    }
  });

  it("splits at paragraphs, then at lines, sentences, words and code points", () => {
    const options = { size: 20, overlap: 0 };
    const cases: readonly (readonly [text: string, expected: readonly string[]])[] = [
      ["first one\n\nsecond one", ["first one", "second one"]],
      ["first one\nsecond one.", ["first one", "second one."]],
      ["First it is. Second it is.", ["First it is.", "Second it is."]],
      ["one two three four five six", ["one two three four", "five six"]],
      ["😀".repeat(11), ["😀".repeat(10), "😀"]],
      [" \n\t ", []],
      ["", []],
      ["short\n\ntexts", ["short\n\ntexts"]],
    ];
    for (const [text, expected] of cases) expect(chunks(text, options), text).to.deep.equal(expected);
  });

  it("repeats the end of the previous chunk, from the start of a word", () => {
    expect(chunks("one two three four five six", { size: 20, overlap: 10 })).to.deep.equal([
      "one two three four",
      "three four five six",
    ]);
    expect(chunks("abcdefghijklmnopqrstuvwxyz", { size: 16, overlap: 6 })).to.deep.equal([
      "abcdefghij",
      "efghijklmnopqrst",
      "opqrstuvwxyz",
    ]);
  });

  it("returns chunks of at most `size` characters, and never splits a surrogate pair", () => {
    fc.assert(
      fc.property(texts, sizes, (text, options) => {
        for (const chunk of chunks(text, options)) {
          expect(chunk.length).to.be.within(1, options.size);
          expect(chunk).to.equal(chunk.trim());
          expect(chunk.isWellFormed() || !text.isWellFormed()).to.equal(true);
        }
      }),
    );
  });

  it("omits only white space, and repeats at most `overlap` characters", () => {
    fc.assert(
      fc.property(texts, sizes, (given, options) => {
        const text = unique(given);
        const whole = bare(text);
        let joined = "";
        for (const chunk of chunks(text, options)) {
          expect(text).to.contain(chunk);
          const added = bare(chunk);
          const repeated = Array.from({ length: options.overlap + 1 }, (_, count) => count).find(
            (count) =>
              joined.endsWith(added.slice(0, count)) && whole.startsWith(joined + added.slice(count)),
          );
          joined += added.slice(repeated ?? expect.fail(`${chunk} does not follow ${joined}`));
        }
        expect(joined).to.equal(whole);
      }),
    );
  });

  it("takes time proportional to the length of the text", () => {
    for (const part of ["lorem ipsum dolor. \n\n", " ", "\n ", ".", ".)"]) {
      const times = growth((size) => void chunks(`${part.repeat(size / part.length)}x`), 2000);
      expect(times, JSON.stringify(part)).to.be.below(64);
    }
    const long = "lorem ipsum dolor. \n\n".repeat(20_000);
    expect(chunks(long).length).to.be.above(400);
    for (const text of [
      " ".repeat(400_000),
      "\n ".repeat(200_000),
      ".".repeat(400_000),
      ".)".repeat(200_000),
    ]) {
      expect(chunks(`${text}x`)).to.be.an("array");
    }
  });

  it("rejects an overlap that is not less than the size, and sizes out of range", () => {
    for (const [options, message] of [
      [{ size: 100, overlap: 100 }, "overlap: must be less than size, which is 100; it is 100"],
      [{ size: 15 }, "size: must be a whole number from 16 to 100000; it is 15"],
    ] as const) {
      expect(() => chunks("a", options)).to.throw(ConfigurationError, message);
    }
  });
});
