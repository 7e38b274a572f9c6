import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { expect } from "chai";
import { createSecretSource, createVerifier, type KeySource, type Verifier } from "@svc/jwt-auth";
import { ConfigurationError } from "@svc/options";
import { keySetFromJwks, noKeys } from "../src/key-set.ts";
import { claimClasses } from "./hostile/claim-classes.ts";
import { encodingClasses } from "./hostile/encoding-classes.ts";
import { headerClasses } from "./hostile/header-classes.ts";
import { asymmetric, type HostileToken } from "./hostile/hostile-token.ts";
import { jsonClasses } from "./hostile/json-classes.ts";
import { wrongKeys } from "./hostile/key-classes.ts";
import { attackersUrl, secretsOfPublicKey, signatureClasses } from "./hostile/signature-classes.ts";
import { everyKey } from "./support/fixed-keys.ts";
import { forge, now } from "./support/forge.ts";
import { keyFixture } from "./support/key-fixtures.ts";

const classes = [
  ...signatureClasses,
  wrongKeys,
  ...headerClasses,
  ...encodingClasses,
  ...jsonClasses,
  ...claimClasses,
];

describe("createVerifier() with hostile tokens", () => {
  for (const { name, tokens } of classes) {
    describe(name, () => {
      for (const row of tokens) {
        it(`refuses ${row.defect}, and accepts the corrected token (${row.rule})`, async () => {
          const refused = await verifierOf(row).verify(row.token);
          expect(refused.reason).to.equal(row.reason);
          if (row.at !== undefined) expect(refused).to.have.property("at", row.at);
          expect(refused).to.not.have.property("principal");
          const accepted = await verifierOf(row).verify(row.repaired);
          expect(accepted.reason).to.equal(undefined);
          expect(accepted.principal?.subject).to.be.a("string").that.is.not.empty;
        });
      }

      it("has at least four tokens with different defects", () => {
        expect(new Set(tokens.map((each) => each.defect)).size)
          .to.equal(tokens.length)
          .and.at.least(4);
        expect(new Set(tokens.map((each) => each.token)).size).to.equal(tokens.length);
      });
    });
  }

  describe("a public key", () => {
    // Skip the modulus, which cannot be distinguished from a random secret.
    const forms = Object.entries(secretsOfPublicKey()).filter(([how]) => how !== "its modulus");
    for (const [how, secret] of forms) {
      it(`is rejected as a secret in the form of ${how} (AUTH-32)`, () => {
        for (const env of ["local", "prod"] as const) {
          expect(() => createSecretSource({ secret, env })).to.throw(
            ConfigurationError,
            /not a shared secret/,
          );
          expect(() => createSecretSource({ secret: secret.subarray(-64), env })).to.not.throw();
        }
      });
    }

    it("is used only for the configured algorithms if its JWK has no alg (AUTH-3)", async () => {
      const jwk = keyFixture("rsa2048").publicKey.export({ format: "jwk" });
      const set = await keySetFromJwks({ keys: [jwk] }, ["RS256"], noKeys);
      const keys: KeySource = { generation: 0, find: (kid, algorithm) => set.find(kid, algorithm) };
      const verifier = createVerifier({ keys, algorithms: ["RS256"], now });
      expect((await verifier.verify(forge({ algorithm: "PS256" }))).reason).to.equal("algorithm_not_allowed");
      expect((await verifier.verify(forge({ algorithm: "RS256" }))).reason).to.equal(undefined);
    });
  });

  it("gives a reason that contains no value of the token (AUTH-11)", async () => {
    for (const row of classes.flatMap((each) => each.tokens)) {
      const found = await verifierOf(row).verify(row.token);
      const { reason, at = "" } = found.reason === undefined ? {} : found;
      expect(`${reason ?? ""}${at}`).to.match(/^[a-z0-9_]{1,40}$/);
    }
  });

  it("does not open a connection for a token that names its own keys (AUTH-2)", async () => {
    let opened = 0;
    const count = (): void => void opened++;
    subscribe("net.client.socket", count);
    try {
      for (const row of classes.flatMap((each) => each.tokens)) await verifierOf(row).verify(row.token);
      await new Promise((resolve) => setImmediate(resolve));
      expect(opened).to.equal(0);
      await fetch(attackersUrl).catch(() => undefined);
      expect(opened, "the test notices a connection").to.be.at.least(1);
    } finally {
      unsubscribe("net.client.socket", count);
    }
  });
});

function verifierOf({ settings }: HostileToken): Verifier {
  return createVerifier({ keys: everyKey(), algorithms: asymmetric, now, ...settings });
}
