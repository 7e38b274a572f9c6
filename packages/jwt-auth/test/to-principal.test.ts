import { type ClaimNames, toPrincipal } from "@svc/jwt-auth";
import { expect } from "chai";
import { nowSeconds } from "./support/forge.ts";
import { hs256, judge, thrownBy, verifierWith } from "./support/verifying.ts";

const names: ClaimNames = { scopeClaim: "scope", rolesClaim: "roles", tenantClaim: "tenant_id" };

describe("toPrincipal", () => {
  it("AUTH-19 CLAIM-2 CLAIM-3 CLAIM-8 gives nine fields", () => {
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

  it("AUTH-19 has all fields of a token that says little", () => {
    const principal = toPrincipal({ sub: "ada" }, names);
    expect(Object.keys(principal)).to.have.length(9);
    expect(principal).to.deep.include({ scopes: [], roles: [], tenant: undefined, tokenId: undefined });
  });

  it("AUTH-27 reads scopes and roles from a string or a list", () => {
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

  it("CLAIM-1 reads the claims that are named", () => {
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

  it("CLAIM-1 a name that every object has is no claim of a token", () => {
    const odd = { scopeClaim: "constructor", rolesClaim: "toString", tenantClaim: "valueOf" };
    expect(toPrincipal({ sub: "a" }, odd)).to.deep.include({ scopes: [], roles: [], tenant: undefined });
  });

  it("CLAIM-5 CLAIM-7 a refresh token has neither scopes nor roles, whatever it says", () => {
    const claims = { typ: "refresh", scope: "a", roles: ["admin"], grt: { scopes: ["a"], roles: ["admin"] } };
    const verification = judge(claims, { tokenUse: "refresh" });
    expect(verification).to.deep.nested.include({ "principal.scopes": [], "principal.roles": [] });
    expect(verification).to.deep.nested.include({ "principal.claims.grt": claims.grt });
  });

  it("CLAIM-5 grt grants nothing on an access token either, and cannot be named", () => {
    const verification = judge({ grt: { scopes: ["a"], roles: ["admin"] } });
    expect(verification).to.deep.nested.include({ "principal.scopes": [], "principal.roles": [] });
    for (const key of ["scopeClaim", "rolesClaim", "tenantClaim"]) {
      expect(thrownBy(() => verifierWith({ [key]: "grt" })).message).to.contain(`${key}: must not be grt`);
    }
  });

  it("is frozen through and through, since many requests share it", () => {
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

  it("drops __proto__ from the claims at every depth, so that no copy of them gets another prototype", () => {
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
