import { jwtAuth, requireAuth, type RevocableToken } from "@svc/jwt-auth";
import { collectingLogger } from "@svc/test-support";
import { expect } from "chai";
import { forge, now } from "./support/forge.ts";
import { type KeyName, pemOf, keyFixture } from "./support/key-fixtures.ts";
import { ask, bearer, serve } from "./support/stacks.ts";

const A = "https://a.example";
const B = "https://b.example";
const C = "https://c.example";
const signers: Readonly<Record<string, KeyName>> = { [A]: "rsa2048", [B]: "otherRsa2048", [C]: "rsa2048" };
const audience = "orders";

function tokenOf(iss: string): string {
  const key = keyFixture(signers[iss] ?? "secret").privateKey;
  return forge({ key, claims: { iss, aud: audience, jti: "1", fam: "session-1" } });
}

const issuer = (iss: string) => ({ issuer: iss, keys: pemOf(signers[iss] ?? "secret"), audience });

describe("the option revocation of several issuers", () => {
  it("queries only the store of the token's issuer, even if subjects, sessions and ids are equal (REV-1, CLAIM-3)", async () => {
    const asked: (readonly [string, RevocableToken])[] = [];
    const storeOf = (iss: string, revoked: boolean) => ({
      isRevoked(token: RevocableToken): boolean {
        asked.push([iss, token]);
        return revoked;
      },
    });
    const auth = jwtAuth({
      issuers: [
        { ...issuer(A), revocation: storeOf(A, true) },
        { ...issuer(B), revocation: storeOf(B, false) },
        issuer(C),
      ],
      now,
    });
    await using server = await serve("bare http", [auth], { "/closed": [requireAuth()] });
    const statuses = [];
    for (const iss of [A, B, C])
      statuses.push((await ask(`${server.url}/closed`, bearer(tokenOf(iss)))).status);
    expect(statuses).to.eql([401, 200, 200]);
    expect(asked.map(([iss]) => iss)).to.eql([A, B]);
    expect(asked[0]?.[1]).to.eql(asked[1]?.[1]);
  });

  it("answers 503 only for the issuer whose store is down, and reports it (REV-5, RDY-11)", async () => {
    const logger = collectingLogger();
    const down = {
      isRevoked(): never {
        throw new Error("down");
      },
    };
    const auth = jwtAuth({
      issuers: [
        { ...issuer(A), revocation: down },
        { ...issuer(B), revocation: { isRevoked: () => false } },
      ],
      revocationFailOpen: false,
      logger,
      now,
    });
    const check = auth.readiness();
    const signal = new AbortController().signal;
    expect(await check.check(signal)).to.include({ healthy: true });
    await using server = await serve("bare http", [auth], { "/closed": [requireAuth()] });
    for (const [iss, expected] of [
      [B, 200],
      [A, 503],
      [B, 200],
    ] as const)
      expect((await ask(`${server.url}/closed`, bearer(tokenOf(iss)))).status).to.equal(expected);
    const found = await check.check(signal);
    expect(found).to.include({ healthy: false, critical: false });
    expect(found.detail).to.include(`; the revocation store of ${A} is not answering: requests`);
    const warnings = logger.lines.filter(({ level }) => level === "warn");
    expect(warnings.map(({ fields }) => fields["issuer"])).to.eql([A]);
  });

  it("names every issuer whose store is down, without secrets, in the readiness check and in the log (RDY-11)", async () => {
    const logger = collectingLogger();
    let isDown = true;
    const revocation = {
      isRevoked() {
        if (isDown) throw new Error("down");
        return false;
      },
    };
    const named = (iss: string) => ({ issuer: iss, keys: pemOf("rsa2048"), audience, revocation });
    const secretive = "https://user:password@c.example/?key=secret";
    const auth = jwtAuth({ issuers: [named(A), named(secretive)], logger, now });
    await using server = await serve("bare http", [auth], { "/closed": [requireAuth()] });
    const get = async (iss: string) => {
      const token = forge({ claims: { iss, aud: audience } });
      expect((await ask(`${server.url}/closed`, bearer(token))).status).to.equal(200);
    };
    for (const iss of [A, secretive]) await get(iss);
    const { detail } = await auth.readiness().check(new AbortController().signal);
    expect(detail).to.include(`; the revocation store of ${A}, https://c.example/ is not answering: tokens`);
    isDown = false;
    for (const iss of [A, secretive]) await get(iss);
    expect(logger.lines.map(({ level, fields }) => [level, fields["issuer"]])).to.eql([
      ["warn", A],
      ["warn", "https://c.example/"],
      ["info", A],
      ["info", "https://c.example/"],
    ]);
    expect(await auth.readiness().check(new AbortController().signal)).to.include({ healthy: true });
  });
});
