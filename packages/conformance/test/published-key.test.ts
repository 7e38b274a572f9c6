import { hasSigned, newKeyPair, signature } from "../src/signing.ts";
import type { Algorithm } from "@svc/conformance";
import { expect } from "chai";

describe("hasSigned()", () => {
  const algorithms: readonly Algorithm[] = ["RS256", "PS384", "ES256", "ES512", "EdDSA"];

  for (const algorithm of algorithms) {
    it(`returns true for the key that signed a token with ${algorithm}, and false for another key`, async () => {
      const [own, other] = [await newKeyPair(algorithm), await newKeyPair(algorithm)];
      const input = "e30.e30";
      const token = `${input}.${signature(algorithm, own.privateKey, Buffer.from(input)).toString("base64url")}`;
      expect(hasSigned(own.publicKey.export({ format: "jwk" }), token, algorithm)).to.equal(true);
      expect(hasSigned(other.publicKey.export({ format: "jwk" }), token, algorithm)).to.equal(false);
    });
  }

  it("returns false for an unusable key", () => {
    expect(hasSigned({ kty: "RSA", n: "!" }, "e30.e30.AA", "RS256")).to.equal(false);
    expect(hasSigned({}, "", "none")).to.equal(false);
  });
});
