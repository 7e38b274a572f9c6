import { expect } from "chai";
import { ada, claimsOf, expectPair, issuing, refusalOf } from "./support/issuing.ts";

describe("replicas on one store", () => {
  it("rotate a refresh token only once when two replicas receive it 16 times in all, in each of 50 rounds (REF-19, REF-4)", async () => {
    const { issuer, replica } = issuing();
    const other = replica();
    for (let round = 0; round < 50; round += 1) {
      const { refresh_token } = await issuer.issuePair(ada);
      const runs = Array.from({ length: 16 }, (_, index) =>
        (index % 2 === 0 ? issuer : other).refresh(refresh_token),
      );
      const settled = await Promise.allSettled(runs);
      const won = settled.filter((each) => each.status === "fulfilled");
      const lost = settled.filter((each) => each.status === "rejected");
      expect([won.length, lost.length]).to.eql([1, 15]);
      const texts = new Set(lost.map((each) => (each.reason as Error).message));
      expect([...texts]).to.eql(["this refresh token has already been rotated"]);
      const pair = won[0]?.value;
      if (pair === undefined) throw new Error("there is no winner");
      expectPair(await issuer.refresh(pair.refresh_token));
    }
  });

  it("rotate a refresh token only once, even with a slow hook (REF-19)", async () => {
    const onRefresh = async (): Promise<{ scopes: string[] }> => {
      await new Promise((resolve) => setImmediate(resolve));
      return { scopes: ["a"] };
    };
    const { issuer, replica } = issuing({ onRefresh });
    const other = replica();
    const { refresh_token } = await issuer.issuePair(ada);
    const runs = Array.from({ length: 16 }, (_, index) =>
      (index % 2 === 0 ? issuer : other).refresh(refresh_token),
    );
    const settled = await Promise.allSettled(runs);
    expect(settled.filter((each) => each.status === "fulfilled")).to.have.length(1);
  });

  it("all end the session after a replay on one of them (REF-6, REV-11)", async () => {
    const { issuer, replica, clock } = issuing();
    const other = replica();
    const first = await issuer.issuePair(ada);
    const second = await issuer.refresh(first.refresh_token);
    clock.forward(11);
    const revoked = "401 this session has been revoked";
    expect(await refusalOf(other.refresh(first.refresh_token))).to.equal(revoked);
    expect(await refusalOf(issuer.refresh(second.refresh_token))).to.equal(revoked);
  });

  it("all sign a person out everywhere after a call on one of them (REV-10)", async () => {
    const { issuer, replica } = issuing();
    const { refresh_token } = await issuer.issuePair(ada);
    await replica().revokeSubject("ada", Number(claimsOf(refresh_token)["iat"]) + 1);
    expect(await refusalOf(issuer.refresh(refresh_token))).to.equal("401 this session has been revoked");
  });
});
