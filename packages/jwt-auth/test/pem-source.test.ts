import { type Algorithm, createPemSource, createVerifier, type PemSourceOptions } from "@svc/jwt-auth";
import { ConfigurationError } from "@svc/options";
import { expect } from "chai";
import { createPublicKey } from "node:crypto";
import { forge, now } from "./support/forge.ts";
import { keyFixture, type KeyName, keyFor, pemOf } from "./support/key-fixtures.ts";
import { certificateOf } from "./support/certificate.ts";
import { thrownBy } from "./support/verifying.ts";

function refused(options: object): string {
  const error = thrownBy(() => createPemSource(options as PemSourceOptions));
  expect(error).to.be.instanceOf(ConfigurationError);
  return error.message;
}

function accepts(publicKey: string, forgery: Parameters<typeof forge>[0] = {}): void {
  const verifier = createVerifier({ keys: createPemSource({ publicKey }), now });
  expect(verifier.verify(forge(forgery)), publicKey).to.have.nested.property("principal.subject", "ada");
}

describe("createPemSource", () => {
  it("reads SPKI and PKCS#1, and ignores the kid (AUTH-2)", () => {
    accepts(pemOf("rsa2048"));
    accepts(pemOf("rsa2048", "pkcs1"));
    accepts(pemOf("rsa2048"), { header: { kid: "any" } });
  });

  it("reads the key of a certificate, and ignores its dates (AUTH-2)", () => {
    accepts(certificateOf("rsa2048"));
    const other = forge({ key: keyFixture("otherRsa2048").privateKey });
    const keys = createPemSource({ publicKey: certificateOf("rsa2048") });
    expect(createVerifier({ keys, now }).verify(other)).to.have.property("reason", "signature");
  });

  it("reads all kinds of line ends, even escaped ones, and ignores surrounding white space (AUTH-2)", () => {
    const pem = pemOf("rsa2048");
    for (const end of ["\r\n", "\\n", "\\r\\n"]) accepts(pem.replaceAll("\n", end));
    accepts(`\n  ${pem}\n\n`);
    accepts(pem.trim());
  });

  it("uses a key for every configured algorithm that it fits (AUTH-26)", async () => {
    const fitting: readonly (readonly [KeyName, readonly Algorithm[]])[] = [
      ["rsa2048", ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]],
      ["p256", ["ES256"]],
      ["p384", ["ES384"]],
      ["p521", ["ES512"]],
      ["ed25519", ["EdDSA"]],
    ];
    for (const [name, algorithms] of fitting) {
      const verifier = createVerifier({ keys: createPemSource({ publicKey: pemOf(name), algorithms }), now });
      expect(verifier.algorithms).to.deep.equal(algorithms);
      for (const algorithm of algorithms) {
        expect(await verifier.verify(forge({ algorithm })), algorithm).to.have.property("principal");
      }
    }
  });

  it("rejects a key that does not fit one of the algorithms, and names the algorithms that it fits (AUTH-26)", () => {
    expect(refused({ publicKey: pemOf("p256") })).to.contain(
      "RS256 needs a key of type rsa, not ec; the key fits ES256",
    );
    const algorithms = ["ES256", "ES384"];
    expect(refused({ publicKey: pemOf("p256"), algorithms })).to.contain(
      "ES384 needs secp384r1, not prime256v1",
    );
    expect(refused({ publicKey: pemOf("secp256k1"), algorithms: ["ES256"] })).to.contain("use another key");
    expect(refused({ publicKey: pemOf("ed448"), algorithms: ["EdDSA"] })).to.contain("ed25519, not ed448");
  });

  it("rejects an RSA key of fewer than 2,048 bits (AUTH-25)", () => {
    expect(refused({ publicKey: pemOf("rsa1024") })).to.contain("at least 2048 bits; this one has 1024");
  });

  it("rejects an RSA key with exponent 1, whose signatures any client can forge (AUTH-25)", () => {
    const numbers = { ...keyFixture("rsa2048").publicKey.export({ format: "jwk" }), e: "AQ" };
    const key = createPublicKey({ key: numbers, format: "jwk" });
    const publicKey = key.export({ type: "spki", format: "pem" }).toString();
    expect(refused({ publicKey })).to.contain("odd public exponent of at least 3; use another key");
  });

  it("rejects HMAC algorithms (AUTH-5, AUTH-26)", () => {
    expect(refused({ publicKey: pemOf("rsa2048"), algorithms: ["HS256"] })).to.contain(
      "HS256 needs a secret",
    );
    expect(refused({ publicKey: pemOf("rsa2048"), algorithms: ["RS256", "HS256"] })).to.contain("one family");
  });

  it("rejects private keys of every type, and does not show them (AUTH-2)", () => {
    for (const name of ["rsa2048", "p256", "ed25519"] as const) {
      const pem = keyFixture(name).privateKey.export({ type: "pkcs8", format: "pem" }).toString();
      for (const publicKey of [pem, pem.replaceAll("\n", "\\n"), `${pemOf(name)}${pem}`]) {
        const message = refused({ publicKey });
        expect(message).to.contain("is a private key");
        for (const line of pem.split("\n").slice(1, 2)) expect(message).not.to.contain(line);
      }
    }
    const { privateKey } = keyFixture("rsa2048");
    expect(refused({ publicKey: privateKey.export({ type: "pkcs1", format: "pem" }) })).to.contain(
      "private key",
    );
  });

  it("rejects a string that is not exactly one readable PEM (AUTH-2)", () => {
    const pem = pemOf("rsa2048");
    const jwk = JSON.stringify(keyFor("RS256").publicKey.export({ format: "jwk" }));
    for (const publicKey of [
      jwk,
      "ssh-rsa AAAA",
      "x",
      pem + pem,
      `# key\n${pem}`,
      pem.slice(0, -5),
      // Replace the word together with its dashes, because the base64 of a key may contain END.
      pem.replace("-----END", "-----BEGIN"),
    ]) {
      expect(refused({ publicKey })).to.contain("must be one PEM");
    }
    const empty = "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----";
    expect(refused({ publicKey: empty })).to.contain("cannot be read");
    expect(refused({ publicKey: empty.replaceAll("PUBLIC KEY", "CERTIFICATE") })).to.contain(
      "cannot be read",
    );
    expect(refused({ publicKey: pem.replaceAll("PUBLIC KEY", "PARAMETERS") })).to.contain(
      "is a PEM of PARAMETERS",
    );
    expect(refused({ publicKey: "" })).to.contain("publicKey");
    expect(refused({})).to.contain("publicKey: is required");
  });

  it("returns the same key object for every kid, and undefined for algorithms that are not configured (AUTH-2)", () => {
    const source = createPemSource({ publicKey: pemOf("rsa2048"), algorithms: ["RS256"] });
    expect(source.find("a", "RS256")).to.equal(source.find(undefined, "RS256"));
    expect(source.find("a", "RS512")).to.equal(undefined);
    expect(source).to.include({ generation: 0 });
  });
});
