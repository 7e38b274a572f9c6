import { createPemSource, createSecretSource, createVerifier } from "@svc/jwt-auth";
import { expect } from "chai";
import { resolved } from "../src/options.ts";
import { newKeyPair } from "../src/signing.ts";
import { createMinter } from "../src/tokens.ts";

const asymmetric = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
] as const;

describe("tokens created by the kit", () => {
  for (const algorithm of asymmetric) {
    it(`are valid when signed with ${algorithm}, by a key in PEM or JWK format`, async () => {
      const { publicKey, privateKey } = await newKeyPair(algorithm);
      const spki = publicKey.export({ type: "spki", format: "pem" }).toString();
      const verifier = createVerifier({
        keys: createPemSource({ publicKey: spki, algorithms: [algorithm] }),
        algorithms: [algorithm],
        issuer: "https://issuer.example",
      });
      for (const key of [
        privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
        privateKey.export({ format: "jwk" }) as Readonly<Record<string, unknown>>,
      ]) {
        const minter = createMinter(
          resolved("keys", { algorithm, privateKey: key, issuer: "https://issuer.example" }),
          undefined,
          "acme",
        );
        const { principal, reason } = await verifier.verify(
          minter.mint({ scopes: ["a", "b"], roles: ["c"] }),
        );
        expect(reason).to.equal(undefined);
        expect(principal).to.deep.include({ scopes: ["a", "b"], roles: ["c"], tenant: "acme" });
      }
    });
  }

  for (const algorithm of ["HS256", "HS384", "HS512"] as const) {
    it(`are valid when signed with ${algorithm}`, async () => {
      const secret = "a-secret-of-sixty-four-characters-or-somewhat-more-so-it-fits-all";
      const verifier = createVerifier({
        keys: createSecretSource({ secret, algorithms: [algorithm] }),
        algorithms: [algorithm],
      });
      const minter = createMinter(
        resolved("keys", { algorithm, secret, scopeClaim: "scp" }),
        undefined,
        undefined,
      );
      expect(await verifier.verify(minter.mint())).to.have.property("principal");
    });
  }
});
