import { signToken } from "@svc/test-support";
import type { Principal } from "@svc/context";
import { createVerifier } from "@svc/jwt-auth";
import { IssueError } from "@svc/token-issuer";
import type { MemoryTokenStore } from "@svc/token-store";
import { expect } from "chai";
import { ada, altered, claimsOf, DAY, expectPair, issuing, refusalOf, SECRET } from "./support/issuing.ts";

const INVALID = "401 invalid refresh token";
const REVOKED = "401 this session has been revoked";
const RACED = "401 this refresh token has already been rotated";
const ENDED = "401 this session is no longer valid";
const PREDATES = "401 this refresh token predates scope-preserving rotation";

describe("refresh()", () => {
  it("returns a new pair of the same session and uses the token up (REF-1, REF-4)", async () => {
    const { issuer, clock } = issuing();
    const first = await issuer.issuePair(ada);
    clock.forward(60);
    const second = await issuer.refresh(first.refresh_token);
    expectPair(second);
    const [before, after] = [claimsOf(first.access_token), claimsOf(second.access_token)];
    expect(after["fam"]).to.equal(before["fam"]);
    expect(after["jti"]).to.not.equal(before["jti"]);
    expect(await refusalOf(issuer.refresh(first.refresh_token))).to.equal(RACED);
    expectPair(await issuer.refresh(second.refresh_token));
  });

  it("keeps scopes, roles, tenant, extra claims and the sign-in time through refreshes (REF-3, ISS-10)", async () => {
    const { issuer, clock } = issuing({ issuer: "https://issuer.example", audience: ["a", "b"] });
    const first = await issuer.issuePair({ ...ada, extra: { locale: "es" } });
    let pair = first;
    for (let round = 0; round < 3; round += 1) {
      clock.forward(3600);
      pair = await issuer.refresh(pair.refresh_token);
    }
    const was = claimsOf(first.access_token);
    const now = Number(was["iat"]) + 3 * 3600;
    const { jti, ...claims } = claimsOf(pair.access_token);
    expect(jti).to.not.equal(was["jti"]);
    const { jti: _jti, ...expected } = was;
    expect(claims).to.eql({ ...expected, iat: now, nbf: now, exp: now + 900 });
    expect(claimsOf(pair.refresh_token)["grt"]).to.eql({ scopes: ada.scopes, roles: ada.roles });
  });

  it("gives every refresh token the full lifetime (REF-2, ISS-4)", async () => {
    const { issuer, clock } = issuing();
    const first = await issuer.issuePair(ada);
    clock.forward(29 * DAY);
    const second = await issuer.refresh(first.refresh_token);
    expect(claimsOf(second.refresh_token)["exp"]).to.equal(clock() / 1000 + 30 * DAY);
  });

  it("rejects a token issued under a longer lifetime once refreshLifetimeDays have passed, because the store has then forgotten its sign-out (REV-2)", async () => {
    const { issuer, clock, replica } = issuing();
    const restarted = replica({ refreshLifetimeDays: 1 });
    const [signedOut, everywhere, kept, idle] = [
      await issuer.issuePair(ada),
      await issuer.issuePair({ ...ada, subject: "bo" }),
      await issuer.issuePair({ ...ada, subject: "cy" }),
      await issuer.issuePair({ ...ada, subject: "di" }),
    ];
    await restarted.revokeSession(String(claimsOf(signedOut.refresh_token)["fam"]));
    await restarted.revokeSubject("bo");
    clock.forward(DAY + 29);
    expectPair(await restarted.refresh(kept.refresh_token));
    clock.forward(1);
    for (const { refresh_token } of [signedOut, everywhere, idle]) {
      expect(await refusalOf(restarted.refresh(refresh_token))).to.equal(INVALID);
    }
    const ended = replica({ refreshLifetimeDays: 1, sessionLifetimeDays: 1 });
    expect(await refusalOf(ended.refresh(idle.refresh_token))).to.equal(ENDED);
  });

  it("uses iat as the sign-in time of a token without auth_time, and writes it as auth_time (ISS-10)", async () => {
    const { issuer, keys, clock } = issuing();
    const { refresh_token } = await issuer.issuePair(ada);
    const { iat } = claimsOf(refresh_token);
    const token = await altered(keys, refresh_token, { auth_time: undefined });
    clock.forward(3600);
    const pair = await issuer.refresh(token);
    expect(claimsOf(pair.refresh_token)["auth_time"]).to.equal(iat);
  });

  it("rejects a second use within the grace window and revokes nothing (REF-5)", async () => {
    const { issuer, store, clock } = issuing();
    const first = await issuer.issuePair(ada);
    const second = await issuer.refresh(first.refresh_token);
    clock.forward(9.9);
    expect(await refusalOf(issuer.refresh(first.refresh_token))).to.equal(RACED);
    expect(await isRevoked(store, second.access_token)).to.equal(false);
    expectPair(await issuer.refresh(second.refresh_token));
  });

  it("revokes the whole session at a second use after the grace window of 10 s (REF-6, REF-14)", async () => {
    const { issuer, store, clock, events } = issuing();
    const first = await issuer.issuePair(ada);
    const second = await issuer.refresh(first.refresh_token);
    clock.forward(10.1);
    expect(await refusalOf(issuer.refresh(first.refresh_token))).to.equal(REVOKED);
    expect(await isRevoked(store, second.access_token)).to.equal(true);
    expect(await refusalOf(issuer.refresh(second.refresh_token))).to.equal(REVOKED);
    expect(events.map((each) => each.type)).to.eql(["issued", "rotated", "replayed", "refused"]);
    clock.forward(30 * DAY);
    expect(await isRevoked(store, second.access_token), "for the refresh lifetime + leeway").to.equal(true);
  });

  it("revokes the session at any second use with a grace window of 0 (REF-14)", async () => {
    const { issuer } = issuing({ refreshGraceSeconds: 0 });
    const first = await issuer.issuePair(ada);
    const second = await issuer.refresh(first.refresh_token);
    expect(await refusalOf(issuer.refresh(first.refresh_token))).to.equal(REVOKED);
    expect(await refusalOf(issuer.refresh(second.refresh_token))).to.equal(REVOKED);
  });

  it("ends a session after sessionLifetimeDays even if it is refreshed (REF-15)", async () => {
    const { issuer, clock } = issuing({ sessionLifetimeDays: 40 });
    let pair = await issuer.issuePair(ada);
    clock.forward(20 * DAY);
    pair = await issuer.refresh(pair.refresh_token);
    clock.forward(20 * DAY - 1);
    pair = await issuer.refresh(pair.refresh_token);
    clock.forward(1);
    expect(await refusalOf(issuer.refresh(pair.refresh_token))).to.equal(ENDED);
  });

  it("issues tokens that expire no later than the session ends (REF-15)", async () => {
    const lifetimes = { sessionLifetimeDays: 1, accessLifetimeMinutes: 1440, refreshLifetimeDays: 30 };
    const { issuer, clock } = issuing(lifetimes);
    const end = clock() / 1000 + DAY;
    const first = await issuer.issuePair(ada);
    expect([claimsOf(first.access_token)["exp"], claimsOf(first.refresh_token)["exp"]]).to.eql([end, end]);
    expect(first.expires_in).to.equal(DAY);
    clock.forward(DAY - 3600);
    const last = await issuer.refresh(first.refresh_token);
    expect([claimsOf(last.access_token)["exp"], claimsOf(last.refresh_token)["exp"]]).to.eql([end, end]);
    expect(last.expires_in).to.equal(3600);
  });

  it("issues tokens with a lifetime of one second in the last second of a session, and no tokens later (REF-15)", async () => {
    const { issuer, clock } = issuing({ sessionLifetimeDays: 1, accessLifetimeMinutes: 1 });
    const first = await issuer.issuePair(ada);
    clock.forward(DAY - 1);
    const last = await issuer.refresh(first.refresh_token);
    expect(last.expires_in).to.equal(1);
    clock.forward(0.999);
    const over = await issuer.refresh(last.refresh_token);
    expect(over.expires_in).to.equal(1);
    clock.forward(0.001);
    expect(await refusalOf(issuer.refresh(over.refresh_token))).to.equal(ENDED);
  });

  it("reports the end of the session when the token has also expired (REF-15, REF-13)", async () => {
    const { issuer, keys, clock } = issuing({ sessionLifetimeDays: 2, refreshLifetimeDays: 1 });
    const { refresh_token } = await issuer.issuePair(ada);
    const forged = signToken(claimsOf(refresh_token), "another secret of at least 32 bytes");
    const access = await altered(keys, refresh_token, { typ: "access" });
    clock.forward(DAY + 31);
    expect(await refusalOf(issuer.refresh(refresh_token))).to.equal("401 invalid refresh token");
    clock.forward(DAY);
    expect(await refusalOf(issuer.refresh(refresh_token))).to.equal(ENDED);
    expect(await refusalOf(issuer.refresh(forged))).to.equal("401 invalid refresh token");
    expect(await refusalOf(issuer.refresh(access))).to.equal("401 invalid refresh token");
  });

  it("leaves the token unused when the session ends during the hook (REF-15)", async () => {
    const { issuer, clock, store } = issuing({
      sessionLifetimeDays: 1,
      onRefresh: () => {
        clock.forward(1);
        return { scopes: [] };
      },
    });
    const { refresh_token } = await issuer.issuePair(ada);
    clock.forward(DAY - 1);
    expect(await refusalOf(issuer.refresh(refresh_token))).to.equal(ENDED);
    expect((store as MemoryTokenStore).size).to.equal(0);
  });

  it("issuePair() rejects an authTime so long ago that the session would have ended (REF-15)", async () => {
    const { issuer, clock } = issuing({ sessionLifetimeDays: 1 });
    const error: unknown = await issuer
      .issuePair({ ...ada, authTime: clock() / 1000 - DAY })
      .catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(IssueError);
    expect(String(error)).to.include("authTime is longer ago than sessionLifetimeDays");
  });

  it("still refreshes a session after two years if sessionLifetimeDays is not set (REF-15)", async () => {
    const { issuer, clock } = issuing();
    let pair = await issuer.issuePair(ada);
    for (let month = 0; month < 24; month += 1) {
      clock.forward(29 * DAY);
      pair = await issuer.refresh(pair.refresh_token);
    }
    expectPair(pair);
  });

  it("rejects every invalid token with the same message (REF-13)", async () => {
    const { issuer, keys, clock } = issuing({ issuer: "https://issuer.example", audience: "orders" });
    const { refresh_token } = await issuer.issuePair(ada);
    const good = claimsOf(refresh_token);
    const bad = {
      "no token": "",
      "not a token": "a.b.c",
      "too long": "x".repeat(9000),
      "a foreign signature": signToken(good, "another secret of at least 32 bytes"),
      "another issuer": await altered(keys, refresh_token, { iss: "https://other.example" }),
      "another audience": await altered(keys, refresh_token, { aud: "other" }),
      "an access token with a bad signature": signToken({ ...good, typ: "access" }, "another secret"),
      "an expired access token": await altered(keys, refresh_token, { typ: "access", exp: 1 }),
    };
    for (const [what, token] of Object.entries(bad)) {
      expect(await refusalOf(issuer.refresh(token)), what).to.equal(INVALID);
    }
    const none = undefined as unknown as string;
    expect(await refusalOf(issuer.refresh(none)), "no string").to.equal(INVALID);
    clock.forward(30 * DAY + 30);
    expect(await refusalOf(issuer.refresh(refresh_token)), "expired").to.equal(INVALID);
  });

  it("reports that an access token was sent instead of a refresh token (REF-13)", async () => {
    const { issuer } = issuing();
    const { access_token } = await issuer.issuePair(ada);
    const refused = "401 an access token cannot be used to refresh";
    expect(await refusalOf(issuer.refresh(access_token))).to.equal(refused);
    const foreign = signToken({ sub: "ada" }, SECRET);
    expect(await refusalOf(issuer.refresh(foreign)), "a token without typ").to.equal(refused);
  });

  const incomplete: Readonly<Record<string, readonly [object, string]>> = {
    "without an id": [{ jti: undefined, fam: undefined, grt: undefined }, "401 refresh token has no id"],
    "without a family": [{ fam: undefined, grt: undefined }, "401 refresh token carries no session family"],
    "without a grant": [{ grt: undefined }, PREDATES],
    "with a grant that is a list of scopes": [{ grt: ["orders:read"] }, PREDATES],
    "with a grant without scopes": [{ grt: { roles: [] } }, PREDATES],
  };
  for (const [what, [claims, refused]] of Object.entries(incomplete)) {
    it(`rejects a refresh token ${what} (REF-12, REF-13)`, async () => {
      let asked = 0;
      const { issuer, keys } = issuing({
        onRefresh: () => {
          asked += 1;
          return { scopes: [] };
        },
      });
      const { refresh_token } = await issuer.issuePair(ada);
      const token = await altered(keys, refresh_token, { ...claims });
      expect(await refusalOf(issuer.refresh(token))).to.equal(refused);
      expect(asked, "the hook comes later").to.equal(0);
    });
  }

  it("accepts a grant without roles, as in the contract (REF-3)", async () => {
    const { issuer, keys } = issuing();
    const { refresh_token } = await issuer.issuePair(ada);
    const pair = await issuer.refresh(await altered(keys, refresh_token, { grt: { scopes: ["a"] } }));
    expect(claimsOf(pair.access_token)).to.deep.include({ scope: "a", roles: [] });
  });

  it("rejects a session after logout(), which revokes both its tokens, but no other session (ISS-5, ISS-7, REF-13)", async () => {
    const { issuer, store, keys, clock, events } = issuing();
    const [phone, laptop] = [await issuer.issuePair(ada), await issuer.issuePair(ada)];
    await issuer.logout(await principalOf(phone.access_token));
    expect(await isRevoked(store, phone.access_token)).to.equal(true);
    expect(await refusalOf(issuer.refresh(phone.refresh_token))).to.equal(REVOKED);
    expect(await isRevoked(store, laptop.access_token)).to.equal(false);
    expectPair(await issuer.refresh(laptop.refresh_token));
    expect(events.map((each) => each.type)).to.include("logged_out");

    async function principalOf(token: string): Promise<Principal> {
      const { principal } = await createVerifier({ keys, now: clock }).verify(token);
      if (principal === undefined) throw new Error("the token does not hold");
      return principal;
    }
  });

  it("accepts a token that expires in centuries, both at a refresh and for logout()", async () => {
    const { issuer, store, keys, clock } = issuing();
    const first = await issuer.issuePair(ada);
    const pair = await issuer.refresh(await altered(keys, first.refresh_token, { exp: 8e9 }));
    const token = await altered(keys, pair.access_token, { exp: 8e9 });
    const { principal } = await createVerifier({ keys, now: clock }).verify(token);
    if (principal !== undefined) await issuer.logout(principal);
    clock.forward(90 * 365 * DAY);
    const [jti, sub] = [principal?.tokenId, "ada"];
    expect(await store.isRevoked({ jti, fam: undefined, sub, signedInAt: 0 })).to.equal(true);
  });

  it("accepts a session after revokeToken() for its access token, but not after revokeSession() (ISS-19, REV-1)", async () => {
    const { issuer, store } = issuing();
    const [first, second] = [await issuer.issuePair(ada), await issuer.issuePair(ada)];
    await issuer.revokeToken(String(claimsOf(first.access_token)["jti"]));
    expect(await isRevoked(store, first.access_token)).to.equal(true);
    expectPair(await issuer.refresh(first.refresh_token));
    await issuer.revokeSession(String(claimsOf(second.access_token)["fam"]));
    expect(await refusalOf(issuer.refresh(second.refresh_token))).to.equal(REVOKED);
  });

  it("rejects a revoked refresh token, and ends its session (ISS-19)", async () => {
    const { issuer, store } = issuing();
    const pair = await issuer.issuePair(ada);
    await issuer.revokeToken(String(claimsOf(pair.refresh_token)["jti"]));
    expect(await refusalOf(issuer.refresh(pair.refresh_token))).to.equal(REVOKED);
    expect(await isRevoked(store, pair.access_token)).to.equal(true);
  });

  it("rejects all older sessions of a person after revokeSubject(), but not a new session (REV-10)", async () => {
    const { issuer, clock } = issuing();
    const [old, young] = [await issuer.issuePair(ada), await issuer.issuePair(ada)];
    const other = await issuer.issuePair({ ...ada, subject: "bo" });
    clock.forward(3600);
    const rotated = await issuer.refresh(old.refresh_token);
    const authTime = await issuer.revokeSubject("ada");
    for (const { refresh_token } of [rotated, young]) {
      expect(await refusalOf(issuer.refresh(refresh_token))).to.equal(REVOKED);
    }
    expectPair(await issuer.refresh(other.refresh_token));
    const again = await issuer.issuePair({ ...ada, authTime });
    clock.forward(2);
    expectPair(await issuer.refresh(again.refresh_token));
  });

  it("accepts a session that began right after revokeSubject(), even without leeway (REV-10)", async () => {
    const { issuer, clock } = issuing({ leewaySeconds: 0 });
    const authTime = await issuer.revokeSubject("ada");
    const again = await issuer.issuePair({ ...ada, authTime });
    clock.forward(1);
    expectPair(await issuer.refresh(again.refresh_token));
  });

  it("revokeSubject() rejects a notBefore in the future or in milliseconds, which would end later sessions too (REV-10)", async () => {
    const { issuer, clock } = issuing();
    const before = await issuer.issuePair(ada);
    for (const notBefore of [clock(), clock() / 1000 + 3600]) {
      const error: unknown = await issuer.revokeSubject("ada", notBefore).catch((reason: unknown) => reason);
      expect(error).to.have.property("code", "ERR_SVC_ISSUE");
    }
    expectPair(await issuer.refresh(before.refresh_token));
  });

  it("revokeToken(), revokeSession() and revokeSubject() reject invalid arguments (ISS-19)", async () => {
    const { issuer } = issuing();
    for (const run of [
      () => issuer.revokeToken(""),
      () => issuer.revokeSession(undefined as unknown as string),
      () => issuer.revokeSubject(""),
      () => issuer.revokeSubject("ada", Number.NaN),
    ]) {
      const error: unknown = await run().then(
        () => undefined,
        (fault: unknown) => fault,
      );
      expect(error).to.have.property("code", "ERR_SVC_ISSUE");
    }
  });
});

async function isRevoked(store: ReturnType<typeof issuing>["store"], accessToken: string): Promise<boolean> {
  const { jti, fam, sub, auth_time } = claimsOf(accessToken);
  return store.isRevoked({
    jti: String(jti),
    fam: String(fam),
    sub: String(sub),
    signedInAt: Number(auth_time),
  });
}
