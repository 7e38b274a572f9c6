import type { Principal } from "@svc/context";
import type { Grant, RefreshHook } from "@svc/token-issuer";
import { expect } from "chai";
import { ada, claimsOf, expectPair, issuing, problemOf, refusalOf } from "./support/issuing.ts";

describe("the refresh hook", () => {
  it("receives the principal of the refresh token, without scopes and roles (REF-9, CLAIM-7)", async () => {
    const seen: Principal[] = [];
    const { issuer } = issuing({
      onRefresh: async (principal) => {
        seen.push(principal);
        return { scopes: ["orders:read"] };
      },
    });
    const { refresh_token } = await issuer.issuePair(ada);
    await issuer.refresh(refresh_token);
    expect(seen).to.have.length(1);
    expect(seen[0]).to.deep.include({ subject: "ada", tenant: "acme", scopes: [], roles: [] });
    expect(seen[0]?.claims["grt"]).to.eql({ scopes: ada.scopes, roles: ada.roles });
    expect(seen[0]?.family).to.equal(claimsOf(refresh_token)["fam"]);
  });

  it("sets the scopes but not the roles, which remain as issued (REF-16)", async () => {
    const { issuer } = issuing({ onRefresh: () => ({ scopes: ["orders:audit"] }) });
    const pair = await issuer.refresh((await issuer.issuePair(ada)).refresh_token);
    expect(claimsOf(pair.access_token)).to.deep.include({ scope: "orders:audit", roles: ["clerk"] });
    expect(claimsOf(pair.refresh_token)["grt"]).to.eql({ scopes: ["orders:audit"], roles: ["clerk"] });
  });

  for (const nothing of [undefined, null]) {
    it(`ends the session immediately when it returns ${String(nothing)} (REF-10)`, async () => {
      let active = true;
      const { issuer, store, events } = issuing({
        onRefresh: () => (active ? { scopes: [] } : nothing),
      });
      const first = await issuer.issuePair(ada);
      const pair = await issuer.refresh(first.refresh_token);
      active = false;
      const ended = "401 this session is no longer valid";
      expect(await refusalOf(issuer.refresh(pair.refresh_token))).to.equal(ended);
      const { jti, fam, sub, auth_time } = claimsOf(pair.access_token);
      const token = { jti: String(jti), fam: String(fam), sub: String(sub), signedInAt: Number(auth_time) };
      expect(await store.isRevoked(token)).to.equal(true);
      expect(events.at(-1)).to.include({ type: "declined", refusal: "ended", family: fam });
      active = true;
      const revoked = "401 this session has been revoked";
      expect(await refusalOf(issuer.refresh(pair.refresh_token))).to.equal(revoked);
    });
  }

  const failing: Readonly<Record<string, RefreshHook>> = {
    throws: () => {
      throw new Error("the database at postgres://user:hunter2@db is gone");
    },
    rejects: () => Promise.reject(new Error("gone")),
    "returns an invalid value": () => ["orders:read"] as unknown as Grant,
    "returns scopes with a space": () => ({ scopes: ["a b"] }),
    "returns false": () => false as unknown as Grant,
    "returns more than a token can hold": () => ({ scopes: ["x".repeat(6000)] }),
  };
  for (const [what, hook] of Object.entries(failing)) {
    it(`leaves the token valid when it ${what} (REF-11)`, async () => {
      let hooked: RefreshHook | undefined = hook;
      const { issuer } = issuing({
        onRefresh: (principal, signal) => hooked?.(principal, signal) ?? { scopes: ["orders:read"] },
      });
      const { refresh_token } = await issuer.issuePair(ada);
      const error = await errorOf(issuer.refresh(refresh_token));
      expect(error).to.include({ status: 500, code: "ERR_SVC_REFRESH_HOOK" });
      hooked = undefined;
      expectPair(await issuer.refresh(refresh_token));
    });
  }

  it("causes a 500 with the generic message when it throws, and the error's message is not logged (REF-11)", async () => {
    const { issuer, logger } = issuing({ onRefresh: failing["throws"] });
    const { refresh_token } = await issuer.issuePair(ada);
    const problem = await problemOf(issuer.refresh(refresh_token));
    expect([problem.status, problem.detail, problem.code]).to.eql([
      500,
      "An unexpected error occurred",
      "ERR_SVC_REFRESH_HOOK",
    ]);
    expect(logger.at("warn")).to.eql(["the refresh hook failed; nothing was consumed"]);
    expect(JSON.stringify(logger.lines)).to.not.include("hunter2");
  });

  it("leaves the token valid when it hangs, and its signal is aborted (REF-11)", async () => {
    let aborted: AbortSignal | undefined;
    let hangs = true;
    const { issuer } = issuing({
      hookTimeoutSeconds: 0.05,
      onRefresh: (_principal, signal) => {
        if (!hangs) return { scopes: [] };
        aborted = signal;
        return new Promise<Grant>(() => undefined);
      },
    });
    const { refresh_token } = await issuer.issuePair(ada);
    const problem = await problemOf(issuer.refresh(refresh_token));
    expect([problem.status, problem.code]).to.eql([500, "ERR_SVC_REFRESH_HOOK"]);
    expect(aborted?.aborted).to.equal(true);
    hangs = false;
    expectPair(await issuer.refresh(refresh_token));
  });

  it("is not called for a session that has been revoked or has ended (REF-11)", async () => {
    let asked = 0;
    const { issuer, clock } = issuing({
      sessionLifetimeDays: 1,
      onRefresh: () => {
        asked += 1;
        return { scopes: [] };
      },
    });
    const [revoked, over] = [await issuer.issuePair(ada), await issuer.issuePair(ada)];
    await issuer.revokeSession(String(claimsOf(revoked.access_token)["fam"]));
    await refusalOf(issuer.refresh(revoked.refresh_token));
    clock.forward(86_400);
    await refusalOf(issuer.refresh(over.refresh_token));
    expect(asked).to.equal(0);
  });

  it("is followed by a 401 if the session was revoked while it ran (REF-10)", async () => {
    const { issuer } = issuing({
      onRefresh: async (principal) => {
        await issuer.revokeSession(principal.family ?? "");
        return { scopes: [] };
      },
    });
    const { refresh_token } = await issuer.issuePair(ada);
    const revoked = "401 this session has been revoked";
    expect(await refusalOf(issuer.refresh(refresh_token))).to.equal(revoked);
  });
});

async function errorOf(run: Promise<unknown>): Promise<unknown> {
  return run.then(
    () => {
      throw new Error("it did not throw");
    },
    (error: unknown) => error,
  );
}
