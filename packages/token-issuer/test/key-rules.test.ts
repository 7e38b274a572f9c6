import {
  addKey,
  newRing,
  promoteKey,
  readRing,
  retireKey,
  type RingDocument,
  SETTLE_SECONDS,
  writeRing,
} from "@svc/token-issuer";
import { expect } from "chai";
import { key, refusal, ring, start } from "./support/rings.ts";

const second = 1000;
const day = 86_400 * second;
const settled = start + SETTLE_SECONDS * second;
/**
 * Retention of a replaced key: 30 days of refresh tokens, 30 s of leeway, 120 s until all services know the new key.
 */
const kept = 30 * day + 150 * second;

function states(document: RingDocument): string[] {
  return document.keys.map((each) => each.state);
}

async function withNext(): Promise<{
  readonly document: RingDocument;
  readonly first: string;
  readonly second: string;
}> {
  const document = addKey(await ring(), await key("ES256", 1), start);
  const [first, next] = document.keys.map((each) => each.kid);
  return { document, first: first ?? "", second: next ?? "" };
}

describe("a key ring", () => {
  it("lets the state of a key change from next to current, previous and retired (KEY-2)", async () => {
    const { document, first } = await withNext();
    expect(states(document)).to.deep.equal(["current", "next"]);
    const promoted = promoteKey(document, settled);
    expect(states(promoted)).to.deep.equal(["previous", "current"]);
    expect(promoted.keys[0]).to.include({ promotedAt: start, replacedAt: settled });
    expect(promoted.keys[1]).to.include({ publishedAt: start, promotedAt: settled });
    const retired = retireKey(promoted, first, settled + kept);
    expect(states(retired)).to.deep.equal(["retired", "current"]);
    expect(retired.keys[0]?.retiredAt).to.equal(settled + kept);
  });

  it("signs immediately with the first key of a ring", async () => {
    expect((await ring()).keys).to.have.length(1);
    expect((await ring()).keys[0]).to.include({ state: "current", publishedAt: start, promotedAt: start });
  });

  it("rejects a promotion until the key has been published for 120 s (KEY-2)", async () => {
    const { document } = await withNext();
    const { message } = refusal(() => promoteKey(document, settled - 1), "too_early");
    expect(message).to.contain("wait 1 s");
    expect(states(promoteKey(document, settled))).to.deep.equal(["previous", "current"]);
  });

  it("promotes a key before it is due with the option force", async () => {
    const { document } = await withNext();
    expect(states(promoteKey(document, start, { force: true }))).to.deep.equal(["previous", "current"]);
  });

  it("rejects the promotion of a key that is not next, even with the option force", async () => {
    const { document, first, second: kid } = await withNext();
    const promoted = promoteKey(document, settled);
    const retired = retireKey(promoted, first, settled, { immediately: true });
    refusal(() => promoteKey(document, settled, { kid: first, force: true }), "wrong_state");
    refusal(() => promoteKey(promoted, settled, { kid, force: true }), "wrong_state");
    refusal(() => promoteKey(promoted, settled, { kid: first, force: true }), "wrong_state");
    refusal(() => promoteKey(retired, settled, { kid: first, force: true }), "wrong_state");
  });

  it("rejects the promotion of an unknown key", async () => {
    const document = await ring();
    expect(refusal(() => promoteKey(document, settled), "unknown_key").message).to.contain("add a key first");
    refusal(() => promoteKey(document, settled, { kid: "other", force: true }), "unknown_key");
  });

  it("rejects the retirement of a replaced key until its last refresh token has expired everywhere (KEY-3)", async () => {
    const { document, first } = await withNext();
    const promoted = promoteKey(document, settled);
    const end = settled + kept;
    const { message } = refusal(() => retireKey(promoted, first, end - 1), "too_early");
    expect(message).to.contain(new Date(end).toISOString());
    expect(states(retireKey(promoted, first, end))).to.deep.equal(["retired", "current"]);
  });

  it("keeps a replaced key for the lifetime of refresh tokens that the ring specifies (KEY-3)", async () => {
    const lifetimes = { accessSeconds: 60, refreshSeconds: 3600, leewaySeconds: 5 };
    const document = addKey(newRing(await key(), start, lifetimes), await key("ES256", 1), start);
    const promoted = promoteKey(document, settled);
    const kid = promoted.keys[0]?.kid ?? "";
    const end = settled + (3600 + 5 + SETTLE_SECONDS) * second;
    refusal(() => retireKey(promoted, kid, end - 1), "too_early");
    expect(states(retireKey(promoted, kid, end))).to.deep.equal(["retired", "current"]);
  });

  it("retires a replaced key before it is due with the option immediately", async () => {
    const { document, first } = await withNext();
    const retired = retireKey(promoteKey(document, settled), first, settled, { immediately: true });
    expect(states(retired)).to.deep.equal(["retired", "current"]);
  });

  it("rejects the retirement of the key that signs", async () => {
    const { document, first } = await withNext();
    refusal(() => retireKey(document, first, settled + 365 * day), "wrong_state");
  });

  it("promotes even a new next key when the current key is retired immediately", async () => {
    const { document, first } = await withNext();
    const retired = retireKey(document, first, start, { immediately: true });
    expect(states(retired)).to.deep.equal(["retired", "current"]);
    expect(retired.keys[1]?.promotedAt).to.equal(start);
  });

  it("rejects the retirement of the only key, even with the option immediately", async () => {
    const document = await ring();
    const kid = document.keys[0]?.kid ?? "";
    const { message } = refusal(() => retireKey(document, kid, start, { immediately: true }), "wrong_state");
    expect(message).to.contain("add another key first");
  });

  it("retires a next key immediately, because it has signed no tokens", async () => {
    const { document, second: kid } = await withNext();
    expect(states(retireKey(document, kid, start))).to.deep.equal(["current", "retired"]);
  });

  it("rejects the retirement of a retired or unknown key", async () => {
    const { document, second: kid } = await withNext();
    const retired = retireKey(document, kid, start);
    refusal(() => retireKey(retired, kid, start), "wrong_state");
    refusal(() => retireKey(retired, kid, start, { immediately: true }), "wrong_state");
    refusal(() => retireKey(retired, "other", start), "unknown_key");
  });

  it("rejects a second next key, and a key that the ring contains or contained", async () => {
    const { document, second: kid } = await withNext();
    const third = await key("ES256", 2);
    refusal(() => addKey(document, third, start), "wrong_state");
    const retired = retireKey(document, kid, start);
    const again = await key("ES256", 1);
    expect(refusal(() => addKey(retired, again, start), "known_key").message).to.contain(
      'its state is "retired"',
    );
    refusal(() => addKey(document, again, start), "known_key");
  });

  it("rejects a mix of secrets and key pairs (AUTH-5)", async () => {
    const secret = await key("HS256");
    const pair = await key();
    const [pairs, secrets] = [await ring(), await ring("HS256")];
    refusal(() => addKey(pairs, secret, start), "wrong_state");
    refusal(() => addKey(secrets, pair, start), "wrong_state");
  });

  it("accepts at most 32 keys that are not retired", async () => {
    let document = await ring("HS256");
    for (let n = 1; n < 32; n++) {
      document = promoteKey(addKey(document, await key("HS256", n), start), start, { force: true });
    }
    const last = await key("HS256", 32);
    refusal(() => addKey(document, last, start), "wrong_state");
    const left = retireKey(document, document.keys[0]?.kid ?? "", start, { immediately: true });
    expect(addKey(left, last, start).keys).to.have.length(33);
  });

  it("drops the oldest of more than 64 retired keys", async () => {
    let document = await ring("HS256");
    for (let n = 1; n <= 70; n++) {
      const added = addKey(document, await key("HS256", n), start);
      document = retireKey(added, added.keys.at(-1)?.kid ?? "", start + n);
    }
    expect(document.keys).to.have.length(65);
    expect(document.keys.some((each) => each.retiredAt === start + 6)).to.equal(false);
    expect(document.keys.some((each) => each.retiredAt === start + 7)).to.equal(true);
  });

  it("drops the private half of a replaced key, and both halves of a retired key", async () => {
    const { document, first } = await withNext();
    const promoted = promoteKey(document, settled);
    expect(promoted.keys[0]?.signing).to.equal(undefined);
    expect(promoted.keys[0]?.verifying?.type).to.equal("public");
    expect(JSON.parse(writeRing(promoted)))
      .to.have.nested.property("keys[0].jwk")
      .that.has.all.keys("kty", "crv", "x", "y");
    const retired = retireKey(promoted, first, settled, { immediately: true });
    expect(JSON.parse(writeRing(retired)))
      .to.have.property("keys")
      .that.is.an("array");
    expect(writeRing(retired).match(/"jwk"/g)).to.have.length(1);
  });

  it("is not modified by a change, which returns a new ring", async () => {
    const { document, first } = await withNext();
    const text = writeRing(document);
    retireKey(promoteKey(document, settled), first, settled, { immediately: true });
    expect(writeRing(document)).to.equal(text);
  });

  it("is equal after it was written and read again, with keys in every state", async () => {
    const { document, first } = await withNext();
    const promoted = promoteKey(document, settled);
    const added = addKey(promoted, await key("EdDSA"), settled);
    const retired = retireKey(added, first, settled, { immediately: true });
    for (const each of [document, promoted, added, retired])
      expect(writeRing(readRing(writeRing(each)))).to.equal(writeRing(each));
  });
});
