import { generateKeyPairSync } from "node:crypto";
import { createVerifier } from "@svc/jwt-auth";
import { createKeyRing, IssueError, type PairRequest } from "@svc/token-issuer";
import { badTenantIds, goodTenantIds } from "@svc/test-support";
import { expect } from "chai";
import { createLocalJWKSet, jwtVerify } from "jose";
import { ada, claimsOf, DAY, expectPair, headerOf, issuing, SECRET } from "./support/issuing.ts";

const ids = /^[0-9a-f]{32}$/;

describe("issuePair()", () => {
  it("issues a pair and states the lifetime of its access token (ISS-2, ISS-4)", async () => {
    const { issuer, clock } = issuing();
    const pair = await issuer.issuePair(ada);
    expectPair(pair);
    expect([pair.token_type, pair.expires_in]).to.eql(["Bearer", 900]);
    const now = clock() / 1000;
    expect(claimsOf(pair.access_token)["exp"]).to.equal(now + 15 * 60);
    expect(claimsOf(pair.refresh_token)["exp"]).to.equal(now + 30 * DAY);
  });

  it("writes a fixed set of claims into the access token (ISS-10, CLAIM-3)", async () => {
    const { issuer, clock } = issuing({ issuer: "https://issuer.example", audience: "orders" });
    const { access_token, refresh_token } = await issuer.issuePair(ada);
    const now = clock() / 1000;
    const { jti, fam, ...rest } = claimsOf(access_token);
    expect(jti).to.match(ids);
    expect(fam).to.match(/^[\w-]{22}$/);
    expect(rest).to.eql({
      iss: "https://issuer.example",
      sub: "ada",
      aud: "orders",
      iat: now,
      nbf: now,
      exp: now + 900,
      auth_time: now,
      typ: "access",
      scope: "orders:read orders:write",
      roles: ["clerk"],
      tenant_id: "acme",
    });
    expect(claimsOf(refresh_token)["fam"]).to.equal(fam);
    expect(claimsOf(refresh_token)["jti"]).to.match(ids).and.not.equal(jti);
  });

  it("writes the grant into the refresh token, but no scopes or roles (ISS-11, CLAIM-4, CLAIM-5)", async () => {
    const { issuer } = issuing();
    const claims = claimsOf((await issuer.issuePair(ada)).refresh_token);
    expect(claims["typ"]).to.equal("refresh");
    expect(claims["grt"]).to.eql({ scopes: ada.scopes, roles: ada.roles });
    expect(claims).to.not.have.any.keys("scope", "roles");
    const bare = claimsOf((await issuer.issuePair({ subject: "bo" })).refresh_token);
    expect(bare["grt"]).to.eql({ scopes: [], roles: [] });
    expect(bare).to.not.have.any.keys("tenant_id", "iss", "aud");
  });

  it("rejects a function among the extra claims, since a function named toJSON would replace all claims (ISS-13)", async () => {
    const { issuer } = issuing();
    for (const name of ["toJSON", "name"]) {
      const extra = { [name]: () => ({ sub: "root" }) };
      const error: unknown = await issuer.issuePair({ ...ada, extra }).catch((reason: unknown) => reason);
      expect(error).to.be.instanceOf(IssueError);
      expect(String(error)).to.contain(`extra.${name} must not be a function`);
    }
  });

  it("rejects an authTime that is not a number (ISS-13)", async () => {
    const { issuer } = issuing();
    for (const authTime of [null, "5", true]) {
      const request = { ...ada, authTime } as object as PairRequest;
      const error: unknown = await issuer.issuePair(request).catch((reason: unknown) => reason);
      expect(error).to.be.instanceOf(IssueError);
    }
  });

  it("creates a new session family for every sign-in (ISS-3, CLAIM-3)", async () => {
    const { issuer } = issuing();
    const pairs = await Promise.all(Array.from({ length: 50 }, () => issuer.issuePair(ada)));
    expect(new Set(pairs.map((each) => claimsOf(each.access_token)["fam"])).size).to.equal(50);
  });

  it("uses the configured names of the scopes, roles and tenant claims (CLAIM-1)", async () => {
    const { issuer } = issuing({ scopeClaim: "scp", rolesClaim: "groups", tenantClaim: "org" });
    const claims = claimsOf((await issuer.issuePair(ada)).access_token);
    expect([claims["scp"], claims["groups"], claims["org"]]).to.eql([
      "orders:read orders:write",
      ["clerk"],
      "acme",
    ]);
    expect(claims).to.not.have.any.keys("scope", "roles", "tenant_id");
  });

  it("uses the given authTime for a sign-in in the past (ISS-10)", async () => {
    const { issuer, clock } = issuing();
    const authTime = clock() / 1000 - 3600;
    const { access_token } = await issuer.issuePair({ ...ada, authTime });
    expect(claimsOf(access_token)["auth_time"]).to.equal(authTime);
  });

  it("writes extra claims into both tokens, and rejects reserved claims (ISS-13)", async () => {
    const { issuer } = issuing({ tenantClaim: "org" });
    const pair = await issuer.issuePair({ ...ada, extra: { locale: "es", flags: [1] } });
    for (const token of [pair.access_token, pair.refresh_token]) {
      expect(claimsOf(token)).to.deep.include({ locale: "es", flags: [1] });
    }
    const reserved = "iss sub aud exp nbf iat jti typ fam grt auth_time scope roles org".split(" ");
    for (const name of reserved) {
      const error = await errorOf(issuer.issuePair({ ...ada, extra: { [name]: "private" } }));
      expect(error).to.be.instanceOf(IssueError).with.property("code", "ERR_SVC_ISSUE");
      expect(error.message).to.equal(
        `issuePair(): extra.${name} must not be set: the issuer writes that claim itself`,
      );
    }
    const polluting = JSON.parse('{"__proto__": {"admin": true}}') as Record<string, unknown>;
    expect(await errorOf(issuer.issuePair({ ...ada, extra: polluting }))).to.be.instanceOf(IssueError);
  });

  const wrong: Readonly<Record<string, unknown>> = {
    "a request that is not an object": undefined,
    "an unknown member": { ...ada, scope: "a" },
    "an empty subject": { subject: "" },
    "a scope with a space": { subject: "ada", scopes: ["a b"] },
    "scopes as a string": { subject: "ada", scopes: "a" },
    "an empty role": { subject: "ada", roles: [""] },
    "an empty tenant": { subject: "ada", tenant: "" },
    "a subject with NUL": { subject: "ada\0" },
    "a subject with a line break": { subject: "ada\r\n" },
    "a subject with a lone surrogate": { subject: "ada\udc00" },
    ...Object.fromEntries(
      Object.entries(badTenantIds).map(([what, tenant]) => [
        `a tenant with ${what} (AUTH-39)`,
        { subject: "ada", tenant },
      ]),
    ),
    "extra as a list": { subject: "ada", extra: [] },
    "a claim without a JSON form": { subject: "ada", extra: { count: 1n } },
    "an authTime in milliseconds": { subject: "ada", authTime: Date.now() },
    "claims that make a token too long for verifiers": { subject: "ada", extra: { note: "x".repeat(6000) } },
  };
  for (const [what, request] of Object.entries(wrong)) {
    it(`rejects ${what} without showing a value (ISS-2)`, async () => {
      const { issuer } = issuing();
      const error = await errorOf(issuer.issuePair(request as PairRequest));
      expect(error).to.be.instanceOf(IssueError);
      expect(error.message)
        .to.match(/^issuePair\(\): /)
        .and.not.include("ada");
    });
  }

  it("issues tokens that this repository's verifier accepts, for every valid tenant id (AUTH-39)", async () => {
    const { issuer, keys, clock } = issuing();
    for (const tenant of goodTenantIds) {
      const { access_token } = await issuer.issuePair({ subject: "ada", tenant });
      expect(await createVerifier({ keys, now: clock }).verify(access_token)).to.have.nested.property(
        "principal.tenant",
        tenant,
      );
    }
  });

  const rsa = () => generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
  const privateKeys = {
    RS256: rsa,
    ES256: () => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey,
    EdDSA: () => generateKeyPairSync("ed25519").privateKey,
  };
  for (const [algorithm, generate] of Object.entries(privateKeys)) {
    it(`issues ${algorithm} tokens that jose and this repository's verifier accept (ISS-12, ISS-14)`, async () => {
      const privateKey = generate().export({ type: "pkcs8", format: "pem" }).toString();
      const keys = createKeyRing({ privateKey, env: "local" });
      const { issuer } = issuing({ keys, audience: "orders", now: Date.now });
      const { access_token } = await issuer.issuePair(ada);
      expect(headerOf(access_token)).to.eql({ alg: algorithm, typ: "JWT", kid: keys.signer().kid });
      const published = JSON.parse(issuer.jwks()?.body ?? "") as Parameters<typeof createLocalJWKSet>[0];
      const { payload } = await jwtVerify(access_token, createLocalJWKSet(published), {
        audience: "orders",
      });
      expect(payload.sub).to.equal("ada");
      const own = await createVerifier({ keys, audience: "orders" }).verify(access_token);
      expect(own.principal).to.include({ subject: "ada", tenant: "acme" });
    });
  }

  it("issues HMAC tokens with a secret, and a refresh token without scopes (ISS-14, CLAIM-7, CLAIM-8)", async () => {
    const { issuer, keys, clock } = issuing();
    const pair = await issuer.issuePair(ada);
    await jwtVerify(pair.access_token, new TextEncoder().encode(SECRET));
    const access = await createVerifier({ keys, now: clock }).verify(pair.access_token);
    expect(access.principal).to.deep.include({ scopes: ada.scopes, roles: ada.roles, tenant: "acme" });
    const reader = createVerifier({ keys, now: clock, tokenUse: "refresh" });
    const refresh = await reader.verify(pair.refresh_token);
    expect(refresh.principal).to.deep.include({ scopes: [], roles: [], tenant: "acme" });
    expect(issuer.jwks()).to.equal(undefined);
  });

  it("issues no token that is too long for verifiers, however long its signature is (ISS-13)", async () => {
    const ring = createKeyRing({ secret: SECRET, env: "local" });
    const signer = {
      ...ring.signer(),
      // As with an RSA key of 8,192 bits.
      signatureBytes: 1024,
      sign: async (claims: object) => {
        const token = await ring.signer().sign(claims);
        return token.slice(0, token.lastIndexOf(".") + 1) + "A".repeat(1366);
      },
    };
    const { issuer } = issuing({ keys: { ...ring, signer: () => signer } });
    const lengths: number[] = [];
    for (let size = 4000; size < 5400; size += 5) {
      const pair = await issuer.issuePair({ ...ada, extra: { x: "x".repeat(size) } }).catch(() => undefined);
      lengths.push(pair?.access_token.length ?? 0, pair?.refresh_token.length ?? 0);
    }
    expect(Math.max(...lengths)).to.be.within(8000, 8192);
    expect(Math.min(...lengths), "a long one is rejected").to.equal(0);
  });

  it("reports the sign-in to onEvent, and ignores errors of onEvent (ISS-18)", async () => {
    const { issuer, events } = issuing();
    const { access_token } = await issuer.issuePair(ada);
    const { fam } = claimsOf(access_token);
    expect(events).to.eql([{ type: "issued", subject: "ada", tenant: "acme", family: fam }]);
    const onEvent = (): never => {
      throw new Error("private");
    };
    for (const each of [onEvent, async () => onEvent()]) {
      const failing = issuing({ onEvent: (): void => each() as never });
      expectPair(await failing.issuer.issuePair(ada));
      await Promise.resolve();
      expect(failing.logger.at("warn")).to.eql(["the token issuer's onEvent threw an error"]);
    }
  });
});

async function errorOf(run: Promise<unknown>): Promise<Error> {
  return run.then(
    () => {
      throw new Error("it did not throw");
    },
    (error: unknown) => error as Error,
  );
}
