import { expect } from "chai";
import type { Algorithm } from "@svc/conformance";
import { hasSigned } from "../src/published-key.ts";
import { newKeyPair, signature } from "../src/signing.ts";

describe("a key of a published set", () => {
  const algorithms: readonly Algorithm[] = ["RS256", "PS384", "ES256", "ES512", "EdDSA"];

  for (const algorithm of algorithms) {
    it(`has signed a token of ${algorithm}, and no other key has`, async () => {
      const [own, other] = [await newKeyPair(algorithm), await newKeyPair(algorithm)];
      const input = "e30.e30";
      const token = `${input}.${signature(algorithm, own.privateKey, Buffer.from(input)).toString("base64url")}`;
      expect(hasSigned(own.publicKey.export({ format: "jwk" }), token, algorithm)).to.equal(true);
      expect(hasSigned(other.publicKey.export({ format: "jwk" }), token, algorithm)).to.equal(false);
    });
  }

  it("that cannot be used has signed nothing", () => {
    expect(hasSigned({ kty: "RSA", n: "!" }, "e30.e30.AA", "RS256")).to.equal(false);
    expect(hasSigned({}, "", "none")).to.equal(false);
  });
});
