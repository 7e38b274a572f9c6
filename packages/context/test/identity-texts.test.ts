import { isPlainText, isTenantId } from "@svc/context";
import { badTenantIds, goodTenantIds } from "@svc/test-support";
import { anyCharacter } from "@svc/test-support/any-character";
import { expect } from "chai";
import fc from "fast-check";

/** Returns whether a code point is a control character or a lone surrogate. */
function isUnfit(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  return code < 0x20 || (code >= 0x7f && code <= 0x9f) || (code >= 0xd800 && code <= 0xdfff);
}

describe("isTenantId()", () => {
  it("accepts 1 to 255 code points (AUTH-39)", () => {
    for (const id of goodTenantIds) expect(isTenantId(id), JSON.stringify(id)).to.equal(true);
  });

  for (const [what, id] of Object.entries(badTenantIds)) {
    it(`rejects ${what} (AUTH-39)`, () => {
      expect(isTenantId(id)).to.equal(false);
    });
  }

  it("rejects the empty string and values that are not strings (AUTH-39)", () => {
    for (const id of ["", undefined, null, 7, true, {}, ["acme"], Symbol("acme")]) {
      expect(isTenantId(id), typeof id).to.equal(false);
    }
  });

  it("returns the same result as a check of each code point, for any string (AUTH-39)", () => {
    const units = fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 300 });
    const text = fc.oneof(
      units.map((each) => String.fromCharCode(...each)),
      fc.string({ unit: anyCharacter, maxLength: 300 }),
      fc.string({ unit: fc.constantFrom("a", " ", "\u{1F600}", "\u00a0"), maxLength: 300 }),
    );
    fc.assert(
      fc.property(text, (each) => {
        const characters = Array.from(each);
        const isPlain = !characters.some(isUnfit);
        expect(isPlainText(each)).to.equal(isPlain);
        const fits = characters.length >= 1 && characters.length <= 255 && each.trim() !== "";
        expect(isTenantId(each)).to.equal(isPlain && fits);
      }),
      { seed: 20_261_123, numRuns: 3000 },
    );
  });
});
