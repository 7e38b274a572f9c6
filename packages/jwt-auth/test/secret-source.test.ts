import { createSecretSource, createVerifier, type SecretSourceOptions } from "@svc/jwt-auth";
import { ConfigurationError } from "@svc/options";
import { expect } from "chai";
import { createSecretKey } from "node:crypto";
import { forge, now } from "./support/forge.ts";
import { keyFixture, type KeyName, pemOf } from "./support/key-fixtures.ts";
import { thrownBy } from "./support/verifying.ts";

const environments = ["local", "dev", "staging", "prod"] as const;
const good = "0123456789abcdef0123456789abcdef";

function refused(options: object): string {
  const error = thrownBy(() => createSecretSource(options as SecretSourceOptions));
  expect(error).to.be.instanceOf(ConfigurationError);
  return error.message;
}

/** Expects that every environment rejects the secret, with this reason. */
function refusedEverywhere(secret: string | Uint8Array, what: RegExp): void {
  for (const env of environments) expect(refused({ secret, env })).to.match(what);
}

describe("createSecretSource", () => {
  it("verifies with a shared secret, for any kid (AUTH-2)", () => {
    const key = createSecretKey(Buffer.from(good));
    const source = createSecretSource({ secret: good });
    const verifier = createVerifier({ keys: source, now });
    for (const kid of [undefined, "any"]) {
      const token = forge({ algorithm: "HS256", key, header: { kid } });
      expect(verifier.verify(token)).to.have.nested.property("principal.subject", "ada");
    }
    expect(source.find(undefined, "HS256")).to.equal(source.find("x", "HS256"));
  });

  it("allows HS256 by default (AUTH-36)", () => {
    const source = createSecretSource({ secret: good });
    expect(source.algorithms).to.deep.equal(["HS256"]);
    for (const other of ["HS384", "RS256"] as const)
      expect(source.find(undefined, other)).to.equal(undefined);
    const both = createSecretSource({ secret: good, algorithms: ["HS384", "HS512"] });
    expect(both.find(undefined, "HS384")).to.equal(both.find(undefined, "HS512"));
    expect(both.find(undefined, "HS256")).to.equal(undefined);
  });

  it("rejects asymmetric algorithms (AUTH-5, AUTH-26)", () => {
    expect(refused({ secret: good, algorithms: ["RS256"] })).to.contain("must be HS256, HS384 or HS512");
    expect(refused({ secret: good, algorithms: ["HS256", "RS256"] })).to.contain("pick one family");
    expect(refused({ secret: good, algorithms: [] })).to.contain("is empty");
  });

  it("requires a secret of at least 32 bytes in prod, and of one byte elsewhere (AUTH-31)", () => {
    expect(createSecretSource({ secret: "x".repeat(32), env: "prod" })).to.have.property("find");
    expect(createSecretSource({ secret: "ü".repeat(16), env: "prod" })).to.have.property("find");
    expect(createSecretSource({ secret: new Uint8Array(32).fill(7) })).to.have.property("find");
    for (const secret of ["x".repeat(31), "ü".repeat(15), new Uint8Array(31).fill(7)]) {
      expect(refused({ secret, env: "prod" })).to.contain("at least 32 random bytes");
      expect(refused({ secret })).to.contain("in prod");
      for (const env of ["local", "dev", "staging"] as const) {
        expect(createSecretSource({ secret, env })).to.have.property("find");
      }
    }
  });

  it("rejects an empty secret in every environment (AUTH-31)", () => {
    for (const secret of ["", "   ", "\n\t", new Uint8Array(0), new Uint8Array(40)]) {
      refusedEverywhere(secret, /secret: is empty/);
    }
    expect(refused({})).to.contain("secret: is required");
  });

  const names = ["rsa2048", "p256", "ed25519"] as const satisfies readonly KeyName[];

  for (const name of names) {
    it(`rejects a key of type ${name} as a secret, in any form (AUTH-32)`, () => {
      const { publicKey, privateKey } = keyFixture(name);
      const spki = pemOf(name);
      const pkcs8 = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
      for (const pem of [
        spki,
        spki.trim(),
        ` \n${spki}`,
        `key: ${spki}`,
        pkcs8,
        spki.replaceAll("\n", "\\n"),
      ]) {
        refusedEverywhere(pem, /is a PEM/);
        refusedEverywhere(Buffer.from(pem), /is a PEM/);
      }
      refusedEverywhere(Buffer.from(spki, "utf16le"), /is a PEM/);
      const der = publicKey.export({ type: "spki", format: "der" });
      refusedEverywhere(der, /is a DER key/);
      refusedEverywhere(privateKey.export({ type: "pkcs8", format: "der" }), /is a DER key/);
      for (const encoding of ["base64", "base64url", "hex"] as const) {
        refusedEverywhere(der.toString(encoding), /is an encoded key/);
      }
      refusedEverywhere(Buffer.from(spki).toString("base64"), /is an encoded key/);
      refusedEverywhere(spki.split("\n").slice(1, -2).join("\n"), /is an encoded key/);
      const jwk = JSON.stringify(publicKey.export({ format: "jwk" }));
      refusedEverywhere(jwk, /is a JSON Web Key/);
      refusedEverywhere(`\n${JSON.stringify({ keys: [JSON.parse(jwk)] }, null, 2)}`, /is a JSON Web Key/);
      refusedEverywhere(Buffer.from(jwk).toString("base64url"), /is an encoded key/);
    });
  }

  it("rejects an SSH key, a PKCS#1 key and a certificate as secrets (AUTH-32)", () => {
    for (const kind of ["ssh-rsa", "ssh-ed25519", "ecdsa-sha2-nistp256", "sk-ssh-ed25519@openssh.com"]) {
      refusedEverywhere(`${kind} AAAAB3NzaC1yc2EAAAADAQABAAABgQDx me@host`, /is an SSH key/);
    }
    refusedEverywhere(pemOf("rsa2048", "pkcs1"), /is a PEM/);
    refusedEverywhere("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", /is a PEM/);
    refusedEverywhere(
      "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n-----END OPENSSH PRIVATE KEY-----",
      /is a PEM/,
    );
  });

  it("accepts secrets that only resemble keys (AUTH-32)", () => {
    const ok = [
      '{"not":"a key at all, but long enough"}',
      "begin-0123456789abcdef0123456789ab",
      "MIIB".repeat(10),
      "0".repeat(64),
    ];
    for (const secret of ok) expect(createSecretSource({ secret }), secret).to.have.property("find");
    expect(createSecretSource({ secret: Buffer.alloc(48, 0x30) })).to.have.property("find");
  });

  it("does not show the secret in an error", () => {
    const secret = "hunter2-hunter2";
    expect(refused({ secret })).not.to.contain("hunter2");
    expect(refused({ secret: [secret] })).not.to.contain("hunter2");
    expect(refused({ secret, env: "nowhere" })).not.to.contain("hunter2");
    expect(refused({ secret: pemOf("p256") })).not.to.contain("MFkw");
  });

  it("keeps its key when the caller overwrites the given bytes", () => {
    const bytes = Buffer.from(good);
    const verifier = createVerifier({ keys: createSecretSource({ secret: bytes }), now });
    bytes.fill(0);
    const token = forge({ algorithm: "HS256", key: createSecretKey(Buffer.from(good)) });
    expect(verifier.verify(token)).to.have.property("principal");
  });
});
