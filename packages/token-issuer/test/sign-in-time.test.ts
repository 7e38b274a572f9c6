import { BreakerOpenError } from "@svc/resilience";
import type { IssuerStore } from "@svc/token-issuer";
import { createMemoryTokenStore } from "@svc/token-store";
import { expect } from "chai";
import { ada, claimsOf, issuing, problemOf } from "./support/issuing.ts";

type Clock = Required<Pick<IssuerStore, "signInTime" | "revokeSubjectNow">>;

/** Returns a store without the optional `signInTime` and `revokeSubjectNow`. */
function storeWithoutClock(): IssuerStore {
  const store = createMemoryTokenStore();
  return {
    isRevoked: (token) => store.isRevoked(token),
    revoke: (jti, ttl) => store.revoke(jti, ttl),
    revokeFamily: (fam, ttl) => store.revokeFamily(fam, ttl),
    revokeSubject: (sub, notBefore, ttl) => store.revokeSubject(sub, notBefore, ttl),
    rotate: (rotation) => store.rotate(rotation),
  };
}

/** Returns a store with the given clock operations. */
function storeWithClock(clock: Clock): IssuerStore {
  return { ...storeWithoutClock(), ...clock };
}

const never = (): never => expect.fail("it was asked");

describe("the time of a sign-in", () => {
  it("is read from the store's clock, once and only at a sign-in (REV-10)", async () => {
    const asked: unknown[] = [];
    const { issuer, clock } = issuing({
      store: storeWithClock({
        signInTime: (sub, nowSeconds) => {
          asked.push([sub, nowSeconds]);
          return nowSeconds - 7;
        },
        revokeSubjectNow: never,
      }),
    });
    const now = clock() / 1000;
    const pair = await issuer.issuePair(ada);
    expect(claimsOf(pair.access_token)).to.include({ auth_time: now - 7, iat: now, exp: now + 900 });
    const next = await issuer.refresh(pair.refresh_token);
    expect(claimsOf(next.access_token)).to.include({ auth_time: now - 7 });
    expect(asked).to.eql([["ada", now]]);
  });

  it("is never later than the store's time, even with a later authTime (REV-10)", async () => {
    const { issuer, clock } = issuing({
      store: storeWithClock({ signInTime: (_sub, now) => now - 25, revokeSubjectNow: never }),
    });
    const now = clock() / 1000;
    for (const [authTime, written] of [
      [now, now - 25],
      [now - 24.5, now - 25],
      [now - 26.5, now - 27],
      [0, 0],
    ]) {
      const { refresh_token } = await issuer.issuePair({ ...ada, authTime });
      expect(claimsOf(refresh_token)["auth_time"], String(authTime)).to.equal(written);
    }
  });

  it("comes from the replica's clock when the store has no clock (REV-10)", async () => {
    const { issuer, clock } = issuing({ store: storeWithoutClock() });
    const now = clock() / 1000;
    const pair = await issuer.issuePair(ada);
    expect(claimsOf(pair.access_token)["auth_time"]).to.equal(now);
    expect(await issuer.revokeSubject("ada")).to.equal(now + 1);
    expect((await problemOf(issuer.refresh(pair.refresh_token))).status).to.equal(401);
    const next = await issuer.issuePair({ ...ada, authTime: now + 1 });
    expect(claimsOf((await issuer.refresh(next.refresh_token)).access_token)["auth_time"]).to.equal(now + 1);
  });

  const failures = {
    throws: () => {
      throw new Error("connect ECONNREFUSED redis://user:hunter2@cache:6379");
    },
    rejects: () => Promise.reject(new Error("hunter2")),
    hangs: () => new Promise<never>(() => undefined),
    "has an open breaker": () => Promise.reject(new BreakerOpenError(1500)),
  };
  for (const [what, signInTime] of Object.entries(failures)) {
    it(`is leewaySeconds ago when the store ${what}, so that a later sign-out ends the session on any replica (REV-10)`, async () => {
      const { issuer, clock, logger } = issuing({
        store: storeWithClock({ signInTime, revokeSubjectNow: never }),
        storeTimeoutSeconds: 0.05,
        leewaySeconds: 20,
      });
      const now = clock() / 1000;
      const pair = await issuer.issuePair(ada);
      expect(claimsOf(pair.access_token)).to.include({ auth_time: now - 20, iat: now, exp: now + 900 });
      expect(pair.expires_in).to.equal(900);
      expect(logger.at("warn")).to.have.length(1);
      expect(JSON.stringify(logger)).to.not.include("hunter2");
    });
  }

  it("revokeSubject() rejects with 503 when the store does not respond (REV-10, ISS-17)", async () => {
    const { issuer } = issuing({
      store: storeWithClock({ signInTime: never, revokeSubjectNow: failures.rejects }),
    });
    const problem = await problemOf(issuer.revokeSubject("ada"));
    expect([problem.status, problem.code]).to.eql([503, "ERR_SVC_TOKEN_STORE_UNAVAILABLE"]);
  });

  it("is rejected if the store returns anything but whole seconds (REV-10)", async () => {
    for (const answer of [undefined, null, "5", Number.NaN, 1.5, -1, Infinity]) {
      const bad = (): number => answer as number;
      const { issuer } = issuing({ store: storeWithClock({ signInTime: bad, revokeSubjectNow: bad }) });
      for (const run of [issuer.issuePair(ada), issuer.revokeSubject("ada")]) {
        const error: unknown = await run.catch((reason: unknown) => reason);
        expect(error, String(answer)).to.be.instanceOf(TypeError);
        expect(String(error)).to.include("must return whole seconds since the Unix epoch");
      }
    }
  });
});
