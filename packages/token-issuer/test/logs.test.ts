import { expect } from "chai";
import { ada, altered, claimsOf, issuing, refusalOf } from "./support/issuing.ts";

describe("the log of an issuer", () => {
  it("names the reason for a rejected refresh, but no tokens, people or sessions (AUTH-11)", async () => {
    const { issuer, keys, clock, logger } = issuing();
    const first = await issuer.issuePair({ ...ada, extra: { email: "ada@example.org" } });
    const second = await issuer.refresh(first.refresh_token);
    await refusalOf(issuer.refresh(first.refresh_token));
    await refusalOf(issuer.refresh(`${second.refresh_token}x`));
    await refusalOf(issuer.refresh(second.access_token));
    await refusalOf(issuer.refresh(await altered(keys, second.refresh_token, { grt: undefined })));
    clock.forward(11);
    await refusalOf(issuer.refresh(first.refresh_token));
    await refusalOf(issuer.refresh(second.refresh_token));
    expect(new Set(logger.lines.map((each) => each.message))).to.eql(new Set(["refresh refused"]));
    expect(logger.lines.map((each) => each.fields)).to.eql([
      { reason: "rotated" },
      { reason: "signature" },
      { reason: "token_use", at: "typ" },
      { reason: "claim_missing", at: "grt" },
      { reason: "replayed" },
      { reason: "revoked" },
    ]);
    const text = JSON.stringify(logger.lines);
    const { jti, fam } = claimsOf(first.refresh_token);
    for (const secret of ["ada", "acme", "example.org", String(jti), String(fam), "eyJ"]) {
      expect(text).to.not.include(secret);
    }
  });

  it("does not affect the results when the logger throws or rejects", async () => {
    const throws = (): never => {
      throw new Error("the disk is full");
    };
    const rejects = (): never => Promise.reject(new Error("the disk is full")) as never;
    for (const fail of [throws, rejects]) {
      const logger = { debug: fail, info: fail, warn: fail, error: fail, fatal: fail };
      const { issuer } = issuing({ logger });
      const { refresh_token } = await issuer.issuePair(ada);
      await issuer.refresh(refresh_token);
      const raced = "401 this refresh token has already been rotated";
      expect(await refusalOf(issuer.refresh(refresh_token))).to.equal(raced);
    }
  });
});
