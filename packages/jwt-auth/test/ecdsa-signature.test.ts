import { generateKeyPairSync, sign, verify } from "node:crypto";
import { expect } from "chai";
import { ecdsaBytes } from "../src/algorithms.ts";
import { derSignature } from "../src/signature.ts";

describe("derSignature()", () => {
  const curves = {
    ES256: ["P-256", "sha256"],
    ES384: ["P-384", "sha384"],
    ES512: ["P-521", "sha512"],
  } as const;

  for (const [algorithm, [namedCurve, hash]] of Object.entries(curves)) {
    it(`writes DER that OpenSSL accepts for ${algorithm}, including numbers with leading zeros (AUTH-3)`, () => {
      const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve });
      const bytes = ecdsaBytes[algorithm] ?? 0;
      let short = 0;
      for (let index = 0; index < 20_000 && (index < 20 || short < 2); index++) {
        const text = Buffer.from(`text ${index}`);
        const fixed = sign(hash, text, { key: privateKey, dsaEncoding: "ieee-p1363" });
        if (fixed[0] === 0 || fixed[bytes] === 0) short += 1;
        if (!verify(hash, text, publicKey, derSignature(fixed))) throw new Error(fixed.toString("hex"));
      }
      expect(short).to.be.at.least(2);
    });
  }

  it("writes numbers with minimal length, with a leading zero if a number would look negative", () => {
    const zero = Buffer.alloc(4);
    expect(derSignature(zero).toString("hex")).to.equal("3006" + "020100" + "020100");
    expect(derSignature(Buffer.from("0080ff00", "hex")).toString("hex")).to.equal(
      "3009" + "02020080" + "020300ff00",
    );
    expect(derSignature(Buffer.from("7f010001", "hex")).toString("hex")).to.equal(
      "3007" + "02027f01" + "020101",
    );
  });

  it("writes a two-byte length for a signature that needs one", () => {
    const der = derSignature(Buffer.alloc(132, 0xff));
    expect(der.subarray(0, 3).toString("hex")).to.equal("30818a");
    expect(der.length).to.equal(3 + 0x8a);
  });

  it("writes DER that OpenSSL refuses for zeros and numbers above the curve's order, like Node's own conversion (AUTH-3)", () => {
    const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const text = Buffer.from("text");
    for (const fill of [0x00, 0xff, 0x80, 0x7f]) {
      const fixed = Buffer.alloc(64, fill);
      expect(verify("sha256", text, publicKey, derSignature(fixed)), `${fill}`).to.equal(false);
      expect(
        verify("sha256", text, { key: publicKey, dsaEncoding: "ieee-p1363" }, fixed),
        `${fill}`,
      ).to.equal(false);
    }
  });
});
