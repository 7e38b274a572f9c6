import fc from "fast-check";

const FIRST_SURROGATE = 0xd800;
const SURROGATES = 0x800;
const CHARACTERS = 0x110000 - SURROGATES;

/**
 * Any Unicode character, as the unit of `fc.string()`.
 *
 * Strings of it equal those of the unit `binary` with the same seed. That unit, however, first makes a table of all 1,112,064
 * characters, which takes more than a second of CPU time in each process.
 */
export const anyCharacter: fc.Arbitrary<string> = fc
  .nat({ max: CHARACTERS - 1 })
  .map(characterOf, (value) => indexOf(value));

function characterOf(index: number): string {
  return String.fromCodePoint(index < FIRST_SURROGATE ? index : index + SURROGATES);
}

/** @throws Error if the value is not one character, as fast-check expects it */
function indexOf(value: unknown): number {
  const code = typeof value === "string" ? (value.codePointAt(0) ?? -1) : -1;
  const index = code < FIRST_SURROGATE ? code : code - SURROGATES;
  if (index < 0 || characterOf(index) !== value) throw new Error("not one character");
  return index;
}
