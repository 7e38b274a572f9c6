import {
  jwtAuth,
  type JwtAuthOptions,
  requireAuth,
  type RevocableToken,
  type RevocationCheck,
} from "@svc/jwt-auth";
import { collectingLogger } from "@svc/test-support";
import { expect } from "chai";
import { everyKey } from "./support/fixed-keys.ts";
import { forge, now } from "./support/forge.ts";
import { type Answer, ask, bearer, serve, stacks } from "./support/stacks.ts";

const options: JwtAuthOptions = { keys: everyKey(), algorithms: ["HS256"], now };
const token = forge({ algorithm: "HS256", claims: { jti: "j", fam: "f", auth_time: 1_799_000_000.7 } });
const routes = { "/open": [], "/me": [requireAuth()] };
const DETAIL = "the revocation store is not answering; retry shortly";
const signal = new AbortController().signal;

/** A clock that moves only by advance(). */
function clock(): { now: () => number; advance: (ms: number) => void } {
  let at = now();
  return { now: () => at, advance: (ms) => void (at += ms) };
}

/** Stores that fail or hang. */
const outages: Readonly<Record<string, RevocationCheck>> = {
  "that throws": {
    isRevoked: () => {
      throw new Error("redis://user:password@host is down");
    },
  },
  "that rejects": { isRevoked: () => Promise.reject(new Error("redis://user:password@host is down")) },
  "that hangs": { isRevoked: () => new Promise(() => undefined) },
  "that rejects with undefined": { isRevoked: () => Promise.reject(undefined as never) },
};

/** Returns two stores with these revoked ids: one returns its result synchronously, the other as a promise. */
function answering(revoked: ReadonlySet<string>): Readonly<Record<string, RevocationCheck>> {
  const isRevoked = ({ jti, fam }: RevocableToken): boolean =>
    revoked.has(jti ?? "") || revoked.has(fam ?? "");
  return {
    "returns synchronously": { isRevoked },
    "returns a promise": { isRevoked: async (each) => (await new Promise(setImmediate), isRevoked(each)) },
  };
}

for (const stack of stacks) {
  describe(`revocation on ${stack}`, () => {
    for (const [how, check] of Object.entries(answering(new Set(["gone", "session"])))) {
      it(`with a store that ${how}, refuses a revoked token and a token of a revoked session (CLAIM-2, REV-1)`, async () => {
        const logger = collectingLogger();
        await using server = await serve(stack, [jwtAuth({ ...options, revocation: check, logger })], routes);
        const good = await ask(`${server.url}/me`, bearer(token));
        expect([good.status, good.body.caller, good.body.inContext]).to.eql([200, "ada", true]);
        for (const claims of [{ jti: "gone" }, { jti: "other", fam: "session" }]) {
          const bad = forge({ algorithm: "HS256", claims });
          expect((await ask(`${server.url}/me`, bearer(bad))).status).to.equal(401);
          const open = await ask(`${server.url}/open`, bearer(bad));
          expect([open.status, open.body.caller, open.body.inContext]).to.eql([200, null, true]);
          expect(logger.lines.at(-1)?.fields["reason"]).to.equal("revoked");
        }
      });
    }

    for (const [how, check] of Object.entries(outages)) {
      it(`with revocationFailOpen and a store ${how}, accepts tokens without the check (REV-4)`, async () => {
        const logger = collectingLogger();
        const revocation = { revocation: check, revocationTimeoutSeconds: 0.02, logger };
        await using server = await serve(stack, [jwtAuth({ ...options, ...revocation })], routes);
        for (let i = 0; i < 6; i++) {
          const { status, body } = await ask(`${server.url}/me`, bearer(token));
          expect([status, body.caller, body.inContext]).to.eql([200, "ada", true]);
        }
        const warnings = logger.at("warn").filter((text) => text?.includes("revocation") === true);
        expect(warnings).to.eql([
          "the revocation store is not answering; tokens are accepted without the check",
        ]);
        expect(JSON.stringify(logger.lines)).to.not.include("password");
      });

      it(`with revocationFailOpen: false and a store ${how}, returns 503 for every valid token (REV-5, REV-6)`, async () => {
        const revocation = { revocation: check, revocationTimeoutSeconds: 0.02, revocationFailOpen: false };
        await using server = await serve(stack, [jwtAuth({ ...options, ...revocation })], routes);
        for (const path of ["/me", "/open", "/me", "/open"]) {
          const { status, headers, body } = await ask(server.url + path, bearer(token));
          expect([status, body.title, body.detail]).to.eql([503, "Service Unavailable", DETAIL]);
          expect(headers.get("retry-after")).to.match(/^[12]$/);
        }
        const bad = bearer(forge({ algorithm: "HS256", claims: { exp: 1 } }));
        expect((await ask(`${server.url}/open`)).status).to.equal(200);
        expect((await ask(`${server.url}/open`, bad)).status).to.equal(200);
        expect((await ask(`${server.url}/me`, bad)).status).to.equal(401);
        expect((await ask(`${server.url}/me`)).status).to.equal(401);
      });
    }

    it("returns 500 when isRevoked returns neither true nor false", async () => {
      for (const wrong of [1, 0, "yes", undefined, null, {}]) {
        for (const isRevoked of [() => wrong, async () => wrong]) {
          const logger = collectingLogger();
          const revocation = { isRevoked } as unknown as RevocationCheck;
          await using server = await serve(stack, [jwtAuth({ ...options, revocation })], routes, logger);
          const answer: Answer = await ask(`${server.url}/open`, bearer(token));
          expect([answer.status, answer.body.detail]).to.eql([500, "An unexpected error occurred"]);
          const { err } = logger.lines[0]?.fields ?? {};
          expect(err).to.include({ code: "ERR_SVC_AUTH_FAILED" });
          expect(String((err as Error).cause)).to.include("isRevoked() must return true or false");
        }
      }
    });
  });
}

describe("the revocation check", () => {
  it("receives the token's id, session and subject, and the sign-in time (CLAIM-2)", async () => {
    const seen: RevocableToken[] = [];
    const revocation = { isRevoked: (each: RevocableToken) => (seen.push(each), false) };
    await using server = await serve("bare http", [jwtAuth({ ...options, revocation })], routes);
    await ask(server.url, bearer(token));
    await ask(server.url, bearer(forge({ algorithm: "HS256" })));
    expect(seen).to.eql([
      { jti: "j", fam: "f", sub: "ada", signedInAt: 1_799_000_000 },
      { jti: undefined, fam: undefined, sub: "ada", signedInAt: 1_800_000_000 - 60 },
    ]);
  });

  it("refuses 1,000 cached tokens at the first request after their revocation (CLAIM-2)", async () => {
    const revoked = new Set<string>();
    const revocation = { isRevoked: ({ jti }: RevocableToken) => revoked.has(jti ?? "") };
    const auth = jwtAuth({ ...options, revocation });
    await using server = await serve("bare http", [auth], routes);
    for (let i = 0; i < 1_000; i++) {
      const jti = `j${i}`;
      const each = bearer(forge({ algorithm: "HS256", claims: { jti } }));
      const before = await ask(`${server.url}/me`, each);
      revoked.add(jti);
      const after = await ask(`${server.url}/me`, each);
      expect([before.status, after.status]).to.eql([200, 401]);
    }
    expect(auth.verifier.cachedTokens).to.equal(1_000);
  });

  it("is called at every use of a valid token, and never for an invalid token", async () => {
    let asked = 0;
    const revocation = { isRevoked: () => (asked++, false) };
    await using server = await serve("bare http", [jwtAuth({ ...options, revocation })], routes);
    for (let i = 0; i < 5; i++) await ask(`${server.url}/me`, bearer(token));
    await ask(`${server.url}/me`, bearer(forge({ algorithm: "HS256", claims: { exp: 1 } })));
    await ask(`${server.url}/me`, bearer(`${token}x`));
    expect(asked).to.equal(5);
  });

  it("stops calling the store after three consecutive failures, and tests it with one request after 2 s (REV-8)", async () => {
    let asked = 0;
    const time = clock();
    const revocation = {
      isRevoked: () => {
        asked += 1;
        throw new Error("down");
      },
    };
    const auth = jwtAuth({ ...options, revocation, now: time.now, revocationFailOpen: false });
    await using server = await serve("bare http", [auth], routes);
    for (let i = 0; i < 10; i++) await ask(server.url, bearer(token));
    expect(asked).to.equal(3);
    time.advance(1_999);
    const refused = await ask(server.url, bearer(token));
    expect([asked, refused.headers.get("retry-after")]).to.eql([3, "1"]);
    time.advance(1);
    for (let i = 0; i < 10; i++) await ask(server.url, bearer(token));
    expect(asked).to.equal(4);
  });

  for (const how of ["immediately", "later"]) {
    it(`with a store that responds ${how}, counts only consecutive failures, and closes the breaker when a trial succeeds (REV-8)`, async () => {
      let asked = 0;
      let isDown = true;
      const time = clock();
      const answer = (): boolean => {
        asked += 1;
        if (isDown) throw new Error("down");
        return false;
      };
      const revocation = { isRevoked: how === "later" ? async () => answer() : answer };
      const auth = jwtAuth({ ...options, revocation, now: time.now });
      await using server = await serve("bare http", [auth], routes);
      for (let round = 0; round < 3; round++) {
        isDown = true;
        for (let i = 0; i < 2; i++) await ask(server.url, bearer(token));
        isDown = false;
        await ask(server.url, bearer(token));
      }
      expect(asked).to.equal(9);
      isDown = true;
      for (let i = 0; i < 5; i++) await ask(server.url, bearer(token));
      expect(asked).to.equal(12);
      isDown = false;
      time.advance(2_000);
      for (let i = 0; i < 5; i++) await ask(server.url, bearer(token));
      expect(asked).to.equal(17);
    });
  }

  it("queries a hanging store only once per cool-down, and accepts all tokens (REV-8)", async () => {
    let asked = 0;
    const time = clock();
    const revocation = {
      isRevoked: () => {
        asked += 1;
        return new Promise<boolean>(() => undefined);
      },
    };
    const auth = jwtAuth({ ...options, revocation, now: time.now, revocationTimeoutSeconds: 0.05 });
    await using server = await serve("bare http", [auth], routes);
    for (let i = 0; i < 3; i++) await ask(server.url, bearer(token));
    expect(asked).to.equal(3);
    for (let round = 1; round <= 3; round++) {
      time.advance(2_000);
      const all = await Promise.all(Array.from({ length: 50 }, () => ask(server.url, bearer(token))));
      expect(all.every(({ body }) => body.caller === "ada")).to.equal(true);
      expect(asked).to.equal(3 + round);
    }
  });

  it("warns at most every ten seconds, and reports the number of suppressed warnings (REV-4)", async () => {
    const time = clock();
    const logger = collectingLogger();
    const revocation = { isRevoked: () => Promise.reject(new Error("down")) };
    const auth = jwtAuth({ ...options, revocation, logger, audience: "", now: time.now });
    await using server = await serve("bare http", [auth], routes);
    const warnings = () =>
      logger.lines.filter(({ level, message }) => level === "warn" && message?.includes("store"));
    for (let i = 0; i < 7; i++) await ask(server.url, bearer(token));
    time.advance(9_999);
    await ask(server.url, bearer(token));
    expect(warnings()).to.have.length(1);
    time.advance(1);
    await ask(server.url, bearer(token));
    expect(warnings().map(({ fields }) => fields["suppressed"])).to.eql([0, 7]);
  });

  for (const failOpen of [true, false]) {
    it(`checks tokens again within one cool-down after the store has recovered (REV-${failOpen ? "4" : "5"})`, async () => {
      let isDown = true;
      const revoked = new Set<string>();
      const time = clock();
      const logger = collectingLogger();
      const revocation = {
        isRevoked: async ({ jti }: RevocableToken) => {
          if (isDown) throw new Error("down");
          return revoked.has(jti ?? "");
        },
      };
      const auth = jwtAuth({ ...options, revocation, logger, now: time.now, revocationFailOpen: failOpen });
      await using server = await serve("bare http", [auth], routes);
      const status = async () => (await ask(`${server.url}/me`, bearer(token))).status;
      for (let i = 0; i < 5; i++) expect(await status()).to.equal(failOpen ? 200 : 503);
      isDown = false;
      revoked.add("j");
      expect(await status(), "during the cool-down").to.equal(failOpen ? 200 : 503);
      time.advance(2_000);
      expect(await status()).to.equal(401);
      revoked.clear();
      expect(await status()).to.equal(200);
      expect(logger.at("info")).to.include("the revocation store answers again");
    });

    it(`makes the auth readiness check unhealthy but not critical while the store is down (RDY-22, REV-${failOpen ? "4" : "5"})`, async () => {
      let isDown = true;
      const time = clock();
      const revocation = {
        isRevoked: () => {
          if (isDown) throw new Error("down");
          return false;
        },
      };
      const auth = jwtAuth({ ...options, revocation, now: time.now, revocationFailOpen: failOpen });
      await using server = await serve("bare http", [auth], routes);
      const check = auth.readiness();
      expect(await check.check(signal)).to.include({ healthy: true });
      await ask(server.url, bearer(token));
      const found = await check.check(signal);
      expect(found).to.include({ healthy: false, critical: false });
      expect(found.detail).to.include("the revocation store is not answering");
      expect(found.detail).to.include(failOpen ? "accepted without the check" : "get a 503");
      isDown = false;
      await ask(server.url, bearer(token));
      expect(await check.check(signal)).to.include({ healthy: true, critical: false });
    });
  }

  it("calls next() synchronously when the store returns synchronously", async () => {
    const order: string[] = [];
    const auth = jwtAuth({ ...options, revocation: { isRevoked: () => false } });
    await using server = await serve(
      "bare http",
      [
        (req, res, next) => {
          auth(req, res, () => {
            order.push("next");
            next();
          });
          order.push("after");
        },
      ],
      routes,
    );
    await ask(server.url, bearer(token));
    expect(order).to.eql(["next", "after"]);
  });
});
