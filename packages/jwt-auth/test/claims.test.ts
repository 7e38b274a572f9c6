import { isPlainText, isTenantId } from "@svc/context";
import { badTenantIds, goodTenantIds } from "@svc/test-support";
import { anyCharacter } from "@svc/test-support/any-character";
import { expect } from "chai";
import fc from "fast-check";
import { goodClaims, nowSeconds } from "./support/forge.ts";
import { hs256, judge, thrownBy, verifierWith } from "./support/verifying.ts";

const accepted = (claims: Readonly<Record<string, unknown>>, options = {}): void => {
  expect(judge(claims, options), JSON.stringify(claims)).to.have.property("principal");
};
const refused = (
  reason: string,
  at: string,
  claims: Readonly<Record<string, unknown>>,
  options = {},
): void => {
  expect(judge(claims, options), JSON.stringify(claims)).to.deep.equal({ reason, at });
};

/** Verifies a token with these payload members as raw text, for JSON that JSON.stringify cannot write. */
function judgeText(members: string, options = {}): unknown {
  const { sub, iat, exp } = goodClaims;
  const base = `"sub":${JSON.stringify(sub)},"iat":${String(iat)},"exp":${String(exp)}`;
  return verifierWith(options).verify(hs256({ rawPayload: `{${base},${members}}` }));
}

describe("claims of a token", () => {
  it("must include exp, iat and sub (AUTH-9)", () => {
    for (const name of ["exp", "iat", "sub"]) refused("claim_missing", name, { [name]: undefined });
  });

  it("expire at exp + leeway (AUTH-30)", () => {
    accepted({ exp: nowSeconds - 29 });
    refused("expired", "exp", { exp: nowSeconds - 30 });
    refused("expired", "exp", { exp: nowSeconds - 31 });
    refused("expired", "exp", { exp: 0 });
  });

  it("may have an iat or nbf that is in the future by at most the leeway (AUTH-8, AUTH-29)", () => {
    for (const ahead of [0, 29, 30]) {
      accepted({ iat: nowSeconds + ahead });
      accepted({ nbf: nowSeconds + ahead });
    }
    refused("issued_in_future", "iat", { iat: nowSeconds + 31 });
    refused("not_yet_valid", "nbf", { nbf: nowSeconds + 31 });
    accepted({ nbf: undefined });
  });

  it("are checked with a configurable leeway of 0 or more (AUTH-8)", () => {
    refused("expired", "exp", { exp: nowSeconds }, { leewaySeconds: 0 });
    accepted({ exp: nowSeconds + 1, iat: nowSeconds, nbf: nowSeconds }, { leewaySeconds: 0 });
    refused("issued_in_future", "iat", { iat: nowSeconds + 1 }, { leewaySeconds: 0 });
    accepted({ exp: nowSeconds - 59 }, { leewaySeconds: 60 });
    for (const leewaySeconds of [-1, 3601, Number.NaN]) {
      expect(thrownBy(() => verifierWith({ leewaySeconds })).message).to.contain("leewaySeconds");
    }
  });

  it("have dates that are truncated to whole seconds (AUTH-28)", () => {
    refused("expired", "exp", { exp: nowSeconds - 30 + 0.9 });
    accepted({ exp: nowSeconds - 29 + 0.1 });
    accepted({ iat: nowSeconds + 30.9, nbf: nowSeconds + 30.9 });
    expect(judge({ exp: nowSeconds + 1.5, iat: nowSeconds - 0.5 })).to.nested.include({
      "principal.expiresAt": nowSeconds + 1,
      signedInAt: nowSeconds - 1,
    });
  });

  it("are checked against a clock truncated to seconds (AUTH-28)", () => {
    accepted({ exp: nowSeconds - 29 }, { now: () => nowSeconds * 1000 + 999 });
    refused("expired", "exp", { exp: nowSeconds - 29 }, { now: () => (nowSeconds + 1) * 1000 });
  });

  it("must have dates from 0 to 8.64e12 (AUTH-23)", () => {
    accepted({ exp: 8.64e12 });
    accepted({ iat: 0, nbf: 0 });
    for (const name of ["exp", "iat", "nbf"]) {
      for (const date of [8.64e12 + 1, -1, -0.5, String(nowSeconds), null, true, [nowSeconds], {}]) {
        refused("claim_type", name, { [name]: date });
      }
      expect(judgeText(`"${name}":1e400`)).to.deep.equal({ reason: "claim_type", at: name });
      expect(judgeText(`"${name}":-1e400`)).to.deep.equal({ reason: "claim_type", at: name });
    }
  });

  it("must have a non-empty string as sub (AUTH-28)", () => {
    for (const sub of ["", 1, null, true, ["ada"], {}]) refused("claim_type", "sub", { sub });
    accepted({ sub: " " });
  });

  it("must have strings as jti, iss and fam when present (AUTH-28)", () => {
    for (const name of ["jti", "iss", "fam"]) {
      for (const value of [1, null, true, ["x"], {}]) refused("claim_type", name, { [name]: value });
      accepted({ [name]: "x" });
    }
  });

  it("may have any valid tenant id; an empty string means no tenant (AUTH-39)", () => {
    for (const tenant_id of goodTenantIds) {
      expect(judge({ tenant_id })).to.have.nested.property("principal.tenant", tenant_id);
    }
    for (const tenant_id of ["", null, undefined]) {
      expect(judge({ tenant_id })).to.have.nested.property("principal.tenant", undefined);
    }
  });

  for (const [what, text] of Object.entries(badTenantIds)) {
    it(`are refused if the tenant is a string with ${what} (AUTH-39)`, () => {
      refused("claim_type", "tenant_id", { tenant_id: text });
      refused("claim_type", "org", { org: text }, { tenantClaim: "org" });
    });
  }

  it("are refused if sub, jti or fam contains control characters or lone surrogates (AUTH-39)", () => {
    for (const name of ["sub", "jti", "fam"]) {
      for (const text of ["a\0", "\r\n", "\u007f", "\u0085", "\ud800", "\udc00a", "\u001b[2J"]) {
        refused("claim_type", name, { [name]: text });
      }
      for (const text of [" ", "é", "\u{1F600}", "x".repeat(300)]) accepted({ [name]: text });
    }
  });

  it("may have exactly the tenants, subjects and ids that isTenantId() and isPlainText() allow (AUTH-39)", () => {
    const text = fc.oneof(
      fc.string({ unit: anyCharacter, maxLength: 260 }),
      fc
        .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 6 })
        .map((units) => String.fromCharCode(...units)),
    );
    fc.assert(
      fc.property(text, (value) => {
        const isTenant = value === "" || isTenantId(value);
        expect("principal" in judge({ tenant_id: value })).to.equal(isTenant);
        for (const name of ["jti", "fam"]) {
          expect("principal" in judge({ [name]: value })).to.equal(isPlainText(value));
        }
        expect("principal" in judge({ sub: value })).to.equal(value !== "" && isPlainText(value));
      }),
      { seed: 20_261_123, numRuns: 500 },
    );
  });

  it("must have a string or a list of strings as aud, even without a configured audience (AUTH-28)", () => {
    for (const aud of [1, null, true, {}, [1], ["a", null], [["a"]]]) refused("claim_type", "aud", { aud });
    for (const aud of ["a", ["a", "b"], []]) accepted({ aud });
  });

  it("must have the configured issuer (AUTH-6)", () => {
    const issuer = "https://issuer.example";
    accepted({ iss: issuer }, { issuer });
    refused("claim_missing", "iss", {}, { issuer });
    for (const iss of ["", "https://issuer.example/", "HTTPS://issuer.example", "https://issuer.exampl"]) {
      refused("issuer", "iss", { iss }, { issuer });
    }
  });

  it("must have the configured audience in aud (AUTH-6)", () => {
    const audience = "expenses";
    for (const aud of ["expenses", ["expenses"], ["other", "expenses"]]) accepted({ aud }, { audience });
    refused("claim_missing", "aud", {}, { audience });
    for (const aud of ["", "expense", "expenses ", "Expenses", [], ["other"]]) {
      refused("audience", "aud", { aud }, { audience });
    }
  });

  it("must have at least one of several configured audiences in aud (AUTH-6)", () => {
    const audience = ["expenses", "reports"];
    for (const aud of ["reports", ["x", "expenses"]]) accepted({ aud }, { audience });
    refused("audience", "aud", { aud: "x" }, { audience });
  });

  it("are not checked against an empty issuer or audience (AUTH-6)", () => {
    accepted({}, { issuer: "", audience: "" });
    accepted({}, { audience: [] });
  });

  it("are refused when a refresh token is used as an access token (AUTH-10, CLAIM-4)", () => {
    refused("token_use", "typ", { typ: "refresh" });
    for (const typ of ["access", "JWT", undefined]) accepted({ typ });
  });

  it("are refused when any other token is used as a refresh token (AUTH-10, CLAIM-4)", () => {
    accepted({ typ: "refresh" }, { tokenUse: "refresh" });
    for (const typ of ["access", undefined, "Refresh", ["refresh"]]) {
      refused("token_use", "typ", { typ }, { tokenUse: "refresh" });
    }
  });

  it("are refused if the tenant is neither a string nor null; null or an empty string means no tenant (CLAIM-1)", () => {
    for (const tenant_id of [1, true, ["acme"], {}]) refused("claim_type", "tenant_id", { tenant_id });
    for (const tenant_id of [null, "", undefined]) {
      expect(judge({ tenant_id })).to.have.nested.property("principal.tenant", undefined);
    }
    refused("claim_type", "org", { org: 1 }, { tenantClaim: "org" });
    accepted({ tenant_id: 1 }, { tenantClaim: "org" });
  });

  it("yield auth_time, or else iat, as the sign-in time (CLAIM-4)", () => {
    const iat = nowSeconds - 60;
    expect(judge({ auth_time: nowSeconds - 5000.5 })).to.have.property("signedInAt", nowSeconds - 5001);
    for (const auth_time of [undefined, null, "x", -1]) {
      expect(judge({ auth_time, iat })).to.have.property("signedInAt", iat);
    }
  });

  it("are not read from a __proto__ member", () => {
    const hidden = `{"__proto__":{"sub":"eve"},"iat":${nowSeconds},"exp":${nowSeconds + 60}}`;
    const verification = verifierWith().verify(hs256({ rawPayload: hidden }));
    expect(verification).to.deep.equal({ reason: "claim_missing", at: "sub" });
  });

  it("are refused when the clock returns NaN, even for a cached token (AUTH-30)", () => {
    let time = nowSeconds * 1000;
    const verifier = verifierWith({ now: () => time });
    const token = hs256();
    expect(verifier.verify(token)).to.have.property("principal");
    time = Number.NaN;
    expect(verifier.verify(token)).to.have.property("reason", "expired");
    expect(verifier.verify(hs256({ claims: { sub: "eve" } }))).to.have.property("reason", "expired");
  });
});
