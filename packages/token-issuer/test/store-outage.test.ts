import type { Principal } from "@svc/context";
import { BreakerOpenError } from "@svc/resilience";
import type { IssuerStore } from "@svc/token-issuer";
import { createMemoryTokenStore } from "@svc/token-store";
import { expect } from "chai";
import { ada, claimsOf, expectPair, issuing, problemOf, refusalOf } from "./support/issuing.ts";

type Operation = Exclude<keyof IssuerStore, "shared">;
type Rotation = Parameters<IssuerStore["rotate"]>[0];

/** Returns a store that records its rotations, and whose operations can be replaced by failures. */
function failingStore(): IssuerStore & {
  /** The functions that replace operations. */
  readonly instead: { [K in Operation]?: (() => unknown) | undefined };
  readonly rotations: Rotation[];
  readonly inner: IssuerStore;
} {
  const inner = createMemoryTokenStore();
  const instead: { [K in Operation]?: (() => unknown) | undefined } = {};
  const rotations: Rotation[] = [];
  const or = <T>(operation: Operation, work: () => T): T => {
    const other = instead[operation];
    return other === undefined ? work() : (other() as T);
  };
  return {
    instead,
    rotations,
    inner,
    isRevoked: (token) => or("isRevoked", () => inner.isRevoked(token)),
    revoke: (jti, ttl) => or("revoke", () => inner.revoke(jti, ttl)),
    revokeFamily: (fam, ttl) => or("revokeFamily", () => inner.revokeFamily(fam, ttl)),
    revokeSubject: (sub, notBefore, ttl) =>
      or("revokeSubject", () => inner.revokeSubject(sub, notBefore, ttl)),
    rotate: (rotation) => {
      rotations.push(rotation);
      return or("rotate", () => inner.rotate(rotation));
    },
  };
}

const throws = (): never => {
  throw new Error("connect ECONNREFUSED redis://user:hunter2@cache:6379");
};
const rejects = (): Promise<never> => Promise.reject(new Error("hunter2"));
const hangs = (): Promise<never> => new Promise(() => undefined);
const open = (): Promise<never> => Promise.reject(new BreakerOpenError(1500));

const UNAVAILABLE = "503 the revocation store is not answering; retry shortly";

describe("a token issuer with a failing store", () => {
  for (const [what, instead] of Object.entries({ throws, rejects, hangs })) {
    for (const operation of ["isRevoked", "rotate"] as const) {
      it(`returns 503 for a refresh and leaves the token valid when ${operation}() ${what} (REF-17)`, async () => {
        const store = failingStore();
        const { issuer, logger, events } = issuing({ store, storeTimeoutSeconds: 0.05 });
        const { refresh_token } = await issuer.issuePair(ada);
        store.instead[operation] = instead;
        const problem = await problemOf(issuer.refresh(refresh_token));
        expect(`${problem.status} ${problem.detail}`).to.equal(UNAVAILABLE);
        expect(problem.code).to.equal("ERR_SVC_TOKEN_STORE_UNAVAILABLE");
        expect(problem.headers).to.eql({ "Retry-After": "1" });
        expect(events.map((each) => each.type)).to.eql(["issued"]);
        expect(logger.at("warn")).to.have.length(1);
        expect(JSON.stringify(logger.lines)).to.not.include("hunter2");
        delete store.instead[operation];
        // The failed call had no effect.
        expectPair(await issuer.refresh(refresh_token));
      });
    }

    it(`returns 503 for a logout when revokeFamily() or revoke() ${what} (ISS-17)`, async () => {
      const store = failingStore();
      const { issuer } = issuing({ store, storeTimeoutSeconds: 0.05 });
      for (const operation of ["revokeFamily", "revoke"] as const) {
        const { access_token } = await issuer.issuePair(ada);
        store.instead[operation] = instead;
        const problem = await problemOf(issuer.logout(principalIn(access_token)));
        expect(`${problem.status} ${problem.detail}`).to.equal(UNAVAILABLE);
        delete store.instead[operation];
      }
    });

    it(`returns 503 for a refresh that the hook declines when revokeFamily() ${what} (REF-10)`, async () => {
      const store = failingStore();
      const { issuer } = issuing({
        store,
        storeTimeoutSeconds: 0.05,
        onRefresh: () => undefined,
      });
      const { refresh_token } = await issuer.issuePair(ada);
      store.instead.revokeFamily = instead;
      expect(await refusalOf(issuer.refresh(refresh_token))).to.equal(UNAVAILABLE);
      delete store.instead.revokeFamily;
      expect(await refusalOf(issuer.refresh(refresh_token))).to.equal("401 this session is no longer valid");
    });
  }

  for (const [how, lose] of Object.entries({ "times out": hangs, "is cut off": rejects })) {
    it(`retries with the same nonce, and succeeds, when the response to a rotation ${how} (REF-8)`, async () => {
      const store = failingStore();
      const { issuer } = issuing({ store, storeTimeoutSeconds: 0.05 });
      const { refresh_token } = await issuer.issuePair(ada);
      store.instead.rotate = () => {
        delete store.instead.rotate;
        // The store rotates the token, but the response is lost.
        expect(store.inner.rotate(store.rotations.at(-1) as Rotation)).to.equal("rotated");
        return lose();
      };
      expectPair(await issuer.refresh(refresh_token));
      const nonces = store.rotations.map((each) => each.nonce);
      expect(nonces).to.have.length(2);
      expect(new Set(nonces).size).to.equal(1);
      const raced = "401 this refresh token has already been rotated";
      expect(await refusalOf(issuer.refresh(refresh_token)), "another nonce").to.equal(raced);
    });
  }

  it("waits until an open breaker closes, and then retries a rotation whose response was lost (REF-8)", async () => {
    const store = failingStore();
    const { issuer } = issuing({ store });
    const { refresh_token } = await issuer.issuePair(ada);
    const answers = [rejects, () => Promise.reject(new BreakerOpenError(20)), undefined];
    store.instead.rotate = () =>
      (answers.shift() ?? (() => store.inner.rotate(store.rotations.at(-1) as Rotation)))();
    expectPair(await issuer.refresh(refresh_token));
    expect(store.rotations).to.have.length(3);
  });

  it("does not retry a rotation that was not sent, for example because the breaker was open (REF-17)", async () => {
    const store = failingStore();
    const { issuer } = issuing({ store });
    const { refresh_token } = await issuer.issuePair(ada);
    store.instead.rotate = open;
    const problem = await problemOf(issuer.refresh(refresh_token));
    expect(problem.headers).to.eql({ "Retry-After": "2" });
    expect(store.rotations).to.have.length(1);
    const notSent = Object.assign(new Error("there is no connection"), { ambiguous: false });
    store.instead.rotate = () => Promise.reject(notSent);
    await problemOf(issuer.refresh(refresh_token));
    expect(store.rotations).to.have.length(2);
  });

  it("does not retry a rotation that a full store in memory rejects (REF-17)", async () => {
    const full = createMemoryTokenStore({ maxEntries: 10 });
    let calls = 0;
    const rotate: IssuerStore["rotate"] = (rotation) => {
      calls += 1;
      return full.rotate(rotation);
    };
    const { issuer } = issuing({ store: { ...full, rotate } });
    let { refresh_token } = await issuer.issuePair(ada);
    for (let refresh = 0; refresh < 9; refresh += 1)
      ({ refresh_token } = await issuer.refresh(refresh_token));
    expect(await refusalOf(issuer.refresh(refresh_token))).to.equal(UNAVAILABLE);
    expect(calls).to.equal(10);
  });

  it("uses a new nonce for every refresh, even with the same token (REF-8)", async () => {
    const store = failingStore();
    const { issuer } = issuing({ store });
    const { refresh_token } = await issuer.issuePair(ada);
    await Promise.allSettled(Array.from({ length: 20 }, () => issuer.refresh(refresh_token)));
    expect(new Set(store.rotations.map((each) => each.nonce)).size).to.equal(20);
  });

  it("issues nothing when a store returns an unknown result (REF-18, REF-8)", async () => {
    const store = failingStore();
    const { issuer } = issuing({ store });
    const { refresh_token } = await issuer.issuePair(ada);
    for (const [operation, answer] of [
      ["isRevoked", undefined],
      ["rotate", true],
      ["rotate", "ok"],
    ] as const) {
      store.instead[operation] = () => answer;
      const error: unknown = await issuer.refresh(refresh_token).then(
        () => undefined,
        (fault: unknown) => fault,
      );
      expect(error, operation).to.be.instanceOf(TypeError);
      delete store.instead[operation];
    }
  });

  it("revokes only the jti at the logout of a token without fam, and nothing without a jti (ISS-6, ISS-8)", async () => {
    const store = failingStore();
    const { issuer } = issuing({ store });
    const principal = principalIn((await issuer.issuePair(ada)).access_token);
    store.instead.revokeFamily = throws;
    await issuer.logout({ ...principal, family: undefined });
    const { tokenId: jti, subject: sub } = principal;
    expect(store.inner.isRevoked({ jti, fam: undefined, sub, signedInAt: 0 })).to.equal(true);
    store.instead.revoke = throws;
    await issuer.logout({ ...principal, family: undefined, tokenId: undefined });
  });

  it("revokes the jti for its remaining lifetime, and the family for the lifetime of a refresh token, at a logout (ISS-5, REV-2, REV-9)", async () => {
    const revoked: Record<string, number> = {};
    const store = Object.assign(createMemoryTokenStore(), {
      revoke: (jti: string, ttlSeconds: number) => void (revoked[jti] = ttlSeconds),
      revokeFamily: (fam: string, ttlSeconds: number) => void (revoked[fam] = ttlSeconds),
    });
    const { issuer, clock } = issuing({ store, leewaySeconds: 20, refreshLifetimeDays: 10 });
    const principal = principalIn((await issuer.issuePair(ada)).access_token);
    clock.forward(60);
    await issuer.logout(principal);
    expect(revoked).to.deep.equal({
      [String(principal.tokenId)]: 14 * 60 + 20,
      [String(principal.family)]: 10 * 86_400 + 20,
    });
  });

  it("passes the lifetimes of entries to the store at a refresh (REV-2, REV-9)", async () => {
    const store = failingStore();
    const { issuer, clock } = issuing({ store, leewaySeconds: 20, refreshLifetimeDays: 10 });
    const { refresh_token } = await issuer.issuePair(ada);
    clock.forward(86_400);
    await issuer.refresh(refresh_token);
    expect(store.rotations[0]).to.include({
      graceSeconds: 10,
      usedTtlSeconds: 9 * 86_400 + 20,
      familyTtlSeconds: 10 * 86_400 + 20,
    });
  });
});

function principalIn(token: string): Principal {
  const claims = claimsOf(token);
  return {
    subject: String(claims["sub"]),
    scopes: [],
    roles: [],
    tenant: undefined,
    tokenId: String(claims["jti"]),
    family: String(claims["fam"]),
    issuer: undefined,
    expiresAt: Number(claims["exp"]),
    claims,
  };
}
