import fc from "fast-check";
import type { HeaderLine } from "./trace-context-cases.ts";

/** A valid `traceparent`, often with a valid `tracestate`. */
export interface HeaderPair {
  readonly traceparent: string;
  readonly tracestate: string | undefined;
}

const VALID = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const KEY_START = "abcdefghijklmnopqrstuvwxyz0123456789";
const VALUE_END = Array.from({ length: 0x7f - 0x21 }, (_, index) => String.fromCharCode(0x21 + index))
  .filter((character) => character !== "," && character !== "=")
  .join("");

const characterOf = (characters: string): fc.Arbitrary<string> => fc.constantFrom(...characters.split(""));
const textOf = (characters: string, lengths: fc.StringConstraints): fc.Arbitrary<string> =>
  fc.string({ ...lengths, unit: characterOf(characters) });
const hex = (digits: number): fc.Arbitrary<string> =>
  textOf("0123456789abcdef", { minLength: digits, maxLength: digits });
const id = (digits: number): fc.Arbitrary<string> => hex(digits).filter((text) => /[^0]/.test(text));

const traceparent = fc.tuple(id(32), id(16), hex(2)).map((parts) => ["00", ...parts].join("-"));
const space = textOf(" \t", { maxLength: 3 });
const key = fc.tuple(
  textOf(KEY_START, { minLength: 1, maxLength: 1 }),
  textOf(`${KEY_START}_-*/@`, { maxLength: 30 }),
);
const value = fc.tuple(
  textOf(` ${VALUE_END}`, { maxLength: 60 }),
  textOf(VALUE_END, { minLength: 1, maxLength: 1 }),
);
const member = fc.tuple(key, value).map(([name, text]) => `${name.join("")}=${text.join("")}`);
const spaced = fc.tuple(space, fc.option(member, { nil: "", freq: 8 }), space).map((parts) => parts.join(""));
const tracestate = fc
  .tuple(fc.array(spaced, { maxLength: 15 }), member, fc.array(spaced, { maxLength: 15 }))
  .map(([before, one, after]) => [...before, one, ...after].join(",").trim())
  .filter((text) => text.length <= 512);

const pair = fc.record({ traceparent, tracestate: fc.option(tracestate, { nil: undefined, freq: 4 }) });

/** Changes to a valid `traceparent`, most of which make it invalid. */
const change: fc.Arbitrary<(text: string) => readonly string[]> = fc.oneof(
  fc
    .tuple(fc.nat(54), characterOf("g-._ A0Fé,"))
    .map(([at, character]) => (text: string) => [text.slice(0, at) + character + text.slice(at + 1)]),
  fc
    .tuple(fc.nat(55), characterOf("0af-. é,"))
    .map(([at, character]) => (text: string) => [text.slice(0, at) + character + text.slice(at)]),
  fc.nat(54).map((at) => (text: string) => [text.slice(0, at) + text.slice(at + 1)]),
  fc.nat(54).map((end) => (text: string) => [text.slice(0, end)]),
  hex(2).map((version) => (text: string) => [version + text.slice(2)]),
  fc.constant((text: string) => [text.toUpperCase()]),
  fc.constant((text: string) => [`00-${"0".repeat(32)}${text.slice(35)}`]),
  fc.constant((text: string) => [`${text.slice(0, 36)}${"0".repeat(16)}${text.slice(52)}`]),
  fc.constant((text: string) => [`${text}-00`]),
  fc.constant((text: string) => [text, text]),
);

const invalid = fc
  .tuple(traceparent, change, tracestate)
  .map(([text, changed, state]) => ({ texts: changed(text), state }))
  // The HTTP parser removes white space around a value.
  .filter(({ texts }) => texts.length !== 1 || !VALID.test(texts[0]?.trim() ?? ""))
  .map(({ texts, state }): readonly HeaderLine[] => [
    ...texts.map((text): HeaderLine => ["traceparent", text]),
    ["tracestate", state],
  ]);

/** Returns generated valid header pairs, always the same ones. */
export function validPairs(count: number): readonly HeaderPair[] {
  return fc.sample(pair, { seed: 20_261, numRuns: count });
}

/** Returns generated headers with an invalid `traceparent` and a valid `tracestate`, always the same ones. */
export function invalidHeaders(count: number): readonly (readonly HeaderLine[])[] {
  return fc.sample(invalid, { seed: 20_262, numRuns: count });
}
