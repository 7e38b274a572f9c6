import { type ClaimNames, toPrincipal } from "@svc/jwt-auth";
import { expect } from "chai";
import { nowSeconds } from "./support/forge.ts";
import { hs256, judge, thrownBy, verifierWith } from "./support/verifying.ts";

const names: ClaimNames = { scopeClaim: "scope", rolesClaim: "roles", tenantClaim: "tenant_id" };

describe("toPrincipal", () => {
  it("returns nine fields (AUTH-19, CLAIM-2, CLAIM-3, CLAIM-8)", () => {
    const claims = {
      sub: "ada",
      scope: "a b",
      roles: ["admin"],
      tenant_id: "acme",
      jti: "id",
      fam: "family",
      iss: "issuer",
      exp: nowSeconds + 0.5,
      extra: 1,
    };
    expect(toPrincipal({ ...claims }, names)).to.deep.equal({
      subject: "ada",
      scopes: ["a", "b"],
      roles: ["admin"],
      tenant: "acme",
      tokenId: "id",
      family: "family",
      issuer: "issuer",
      expiresAt: nowSeconds,
      claims,
    });
  });

  it("returns all fields for a token with few claims (AUTH-19)", () => {
    const principal = toPrincipal({ sub: "ada" }, names);
    expect(Object.keys(principal)).to.have.length(9);
    expect(principal).to.deep.include({ scopes: [], roles: [], tenant: undefined, tokenId: undefined });
  });

  it("reads scopes and roles from a string or a list (AUTH-27)", () => {
    const read = (value: unknown): unknown => {
      const { scopes, roles } = toPrincipal({ sub: "a", scope: value, roles: value }, names);
      expect(scopes).to.deep.equal(roles);
      return scopes;
    };
    expect(read("a b")).to.deep.equal(["a", "b"]);
    expect(read("  a   b ")).to.deep.equal(["a", "b"]);
    expect(read("a")).to.deep.equal(["a"]);
    expect(read(["a", "b c"])).to.deep.equal(["a", "b c"]);
    for (const nothing of ["", " ", [], undefined, null, 1, true, {}, { length: 1, 0: "a" }]) {
      expect(read(nothing)).to.deep.equal([]);
    }
    expect(read(["a", 1, null, "", ["b"]])).to.deep.equal(["a"]);
  });

  it("reads scopes, roles and tenant from the configured claims (CLAIM-1)", () => {
    const other = { scopeClaim: "scp", rolesClaim: "https://example/roles", tenantClaim: "org" };
    const claims = {
      sub: "a",
      scp: "x",
      "https://example/roles": "y",
      org: "z",
      scope: "s",
      roles: "r",
      tenant_id: "t",
    };
    expect(toPrincipal(claims, other)).to.deep.include({ scopes: ["x"], roles: ["y"], tenant: "z" });
    const verifier = verifierWith(other);
    expect(verifier.verify(hs256({ claims: { scp: ["x"] } }))).to.deep.nested.include({
      "principal.scopes": ["x"],
    });
  });

  it("does not read claims from inherited members (CLAIM-1)", () => {
    const odd = { scopeClaim: "constructor", rolesClaim: "toString", tenantClaim: "valueOf" };
    expect(toPrincipal({ sub: "a" }, odd)).to.deep.include({ scopes: [], roles: [], tenant: undefined });
  });

  it("returns no scopes or roles for a refresh token that has these claims (CLAIM-5, CLAIM-7)", () => {
    const claims = { typ: "refresh", scope: "a", roles: ["admin"], grt: { scopes: ["a"], roles: ["admin"] } };
    const verification = judge(claims, { tokenUse: "refresh" });
    expect(verification).to.deep.nested.include({ "principal.scopes": [], "principal.roles": [] });
    expect(verification).to.deep.nested.include({ "principal.claims.grt": claims.grt });
  });

  it("ignores grt on an access token, and rejects it as a claim name (CLAIM-5)", () => {
    const verification = judge({ grt: { scopes: ["a"], roles: ["admin"] } });
    expect(verification).to.deep.nested.include({ "principal.scopes": [], "principal.roles": [] });
    for (const key of ["scopeClaim", "rolesClaim", "tenantClaim"]) {
      expect(thrownBy(() => verifierWith({ [key]: "grt" })).message).to.contain(`${key}: must not be grt`);
    }
  });

  it("returns a deeply frozen principal, because many requests share it", () => {
    const principal = toPrincipal(
      { sub: "a", scope: "x", roles: ["r"], deep: { list: [{ leaf: 1 }] } },
      names,
    );
    const seen: unknown[] = [principal];
    for (let each = seen.pop(); each !== undefined; each = seen.pop()) {
      expect(each).to.be.frozen;
      seen.push(
        ...Object.values(each as object).filter((value) => typeof value === "object" && value !== null),
      );
    }
  });

  it("drops __proto__ from the claims at every depth, to protect the prototype of copies", () => {
    const text =
      '{"sub":"a","__proto__":{"admin":true},"deep":[{"__proto__":{"admin":true}}],"\\u005f_proto__":1}';
    const { claims } = toPrincipal(JSON.parse(text) as Record<string, unknown>, names);
    expect(Object.getOwnPropertyNames(claims)).to.deep.equal(["sub", "deep"]);
    expect(JSON.stringify(claims)).to.equal('{"sub":"a","deep":[{}]}');
    const copy: object = Object.assign({}, claims);
    expect(Object.getPrototypeOf(copy)).to.equal(Object.prototype);
    expect(({} as Record<string, unknown>)["admin"]).to.equal(undefined);
  });

  it("freezes 8 KiB of nested lists", () => {
    const claims = JSON.parse(`{"sub":"a","deep":${"[".repeat(4000)}${"]".repeat(4000)}}`) as Record<
      string,
      unknown
    >;
    expect(toPrincipal(claims, names).claims).to.be.frozen;
  });
});
