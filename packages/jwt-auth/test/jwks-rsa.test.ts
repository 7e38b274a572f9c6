import { createSecretKey } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Algorithm, KeySource } from "@svc/jwt-auth";
import { createKeySetSource, createSecretSource, createVerifier } from "@svc/jwt-auth";
import { expressJwtSecret, fromJwksRsa, type JwksRsaClient, passportJwtSecret } from "@svc/jwt-auth/jwks-rsa";
import { ConfigurationError } from "@svc/options";
import { codeBlocks, collectingLogger, expressMajors, listen, rejection, runSample } from "@svc/test-support";
import { expect } from "chai";
import type { NextFunction, Request, Response } from "express";
import { expressjwt } from "express-jwt";
import jwksRsa from "jwks-rsa";
import passport from "passport";
import { ExtractJwt, Strategy } from "passport-jwt";
import request from "supertest";
import { forge, type Forgery } from "./support/forge.ts";
import { failing, issuer, jwkOf, readinessOf, stoppedClock } from "./support/issuer.ts";
import { keyFixture } from "./support/key-fixtures.ts";

function clientOf(url: string): jwksRsa.JwksClient {
  return jwksRsa({ jwksUri: url, cache: false });
}

/** Makes a token that is issued now, because express-jwt and passport-jwt use the system clock. */
function tokenOf(forgery: Forgery = {}): string {
  const now = Math.floor(Date.now() / 1000);
  return forge({
    ...forgery,
    header: { kid: "rsa2048", ...forgery.header },
    claims: { iat: now, exp: now + 900, ...forgery.claims },
  });
}

describe("fromJwksRsa()", () => {
  it("fetches the client's whole set with one request for all waiting callers (CLAIM-6, KEY-15)", async () => {
    await using keys = await issuer(jwkOf("rsa2048"), jwkOf("p256"), jwkOf("ed25519", { use: "enc" }));
    using source = fromJwksRsa(clientOf(keys.url), { algorithms: ["RS256", "PS256", "ES256", "EdDSA"] });
    const calls = Array.from({ length: 100 }, () => source.refresh("rsa2048", "RS256"));
    const found = new Set(await Promise.all(calls));
    expect([...found]).to.deep.equal([source.find("rsa2048", "RS256")]);
    expect(source.find("rsa2048", "PS256")?.equals(keyFixture("rsa2048").publicKey)).to.equal(true);
    expect(source.find("p256", "ES256")?.equals(keyFixture("p256").publicKey)).to.equal(true);
    expect(source.find("ed25519", "EdDSA")).to.equal(undefined);
    expect(source.find("p256", "RS256")).to.equal(undefined);
    expect(keys.requests).to.equal(1);
    expect((await readinessOf(source)).detail).to.equal("2 key(s), cached 0s ago");
  });

  it("limits a verifier without the option algorithms to its own algorithms", async () => {
    await using keys = await issuer(jwkOf("p256"));
    using source = fromJwksRsa(clientOf(keys.url), { algorithms: ["ES256"] });
    expect(createVerifier({ keys: source }).algorithms).to.eql(["ES256"]);
  });

  it("uses a key with the alg Ed25519, the name of RFC 9864, for EdDSA", async () => {
    await using keys = await issuer(jwkOf("ed25519", { alg: "Ed25519" }));
    using source = fromJwksRsa(clientOf(keys.url), { algorithms: ["EdDSA"] });
    expect(await source.refresh("ed25519", "EdDSA")).to.have.property("asymmetricKeyType", "ed25519");
  });

  it("imports only keys that fit a configured algorithm (KEY-12, AUTH-25, AUTH-26)", async () => {
    await using keys = await issuer(
      jwkOf("rsa2048", { alg: "PS256" }),
      jwkOf("rsa1024"),
      jwkOf("p256"),
      jwkOf("secp256k1"),
      jwkOf("rsa2048", { kid: "open", e: "AQ" }),
      jwkOf("otherRsa2048"),
    );
    using source = fromJwksRsa(clientOf(keys.url), { algorithms: ["RS256"] });
    await source.refresh("otherRsa2048", "RS256");
    const algorithms: readonly Algorithm[] = ["RS256", "PS256", "ES256"];
    const served = ["rsa2048", "rsa1024", "p256", "secp256k1", "open", "otherRsa2048"].flatMap((kid) =>
      algorithms.filter((each) => source.find(kid, each) !== undefined).map((each) => `${kid} ${each}`),
    );
    expect(served).to.deep.equal(["otherRsa2048 RS256"]);
    expect(source.find(undefined, "RS256")).to.equal(source.find("otherRsa2048", "RS256"));
  });

  it("fetches at most once a minute for unknown kids, and serves stale keys in an outage (KEY-1, KEY-4, RDY-24)", async () => {
    const clock = stoppedClock();
    const logger = collectingLogger();
    await using keys = await issuer(jwkOf("rsa2048"));
    using source = fromJwksRsa(clientOf(keys.url), { now: clock.now, random: () => 0, logger });
    const key = await source.refresh("rsa2048", "RS256");
    for (let call = 0; call < 200; call++) await source.refresh(`random ${call}`, "RS256");
    expect(keys.requests).to.equal(2);
    keys.answer(failing(500));
    for (let minute = 0; minute < 3; minute++) {
      clock.advance(60);
      await rejection(source.refresh("random", "RS256"));
    }
    expect(source.find("rsa2048", "RS256")).to.equal(key);
    expect(source.generation).to.equal(1);
    expect((await readinessOf(source)).detail).to.match(
      /^serving keys cached 180s ago; last refresh failed: .* \(breaker open\)$/,
    );
    expect(logger.texts.join("\n")).not.to.include("no keys here");
  });

  it("keeps the key object of an unchanged key, and finds a new key at its first use (KEY-2)", async () => {
    await using keys = await issuer(jwkOf("rsa2048"));
    using source = fromJwksRsa(clientOf(keys.url));
    const key = await source.refresh("rsa2048", "RS256");
    keys.publish(jwkOf("rsa2048"), jwkOf("otherRsa2048"));
    expect(await source.refresh("otherRsa2048", "RS256")).not.to.equal(undefined);
    expect(source.find("rsa2048", "RS256")).to.equal(key);
    expect(source.generation).to.equal(2);
  });

  it("has a critical readiness check if the set is empty or its keys fit no algorithm (RDY-25)", async () => {
    for (const published of [[], [jwkOf("p256")], [{ kty: "oct", k: "AAAA" }]]) {
      await using keys = await issuer(...published);
      using source = fromJwksRsa(clientOf(keys.url));
      expect((await rejection(source.refresh("p256", "RS256"))).message).to.include("no usable key");
      expect(await readinessOf(source)).to.include({ critical: true, detail: "no keys fetched yet" });
    }
  });

  it("limits calls to a hanging client to four at a time, each with a deadline (KEY-6)", async () => {
    const clock = stoppedClock();
    let calls = 0;
    const release = Promise.withResolvers<never>();
    const client: JwksRsaClient = {
      getSigningKeys: () => {
        calls += 1;
        return release.promise;
      },
    };
    using source = fromJwksRsa(client, { now: clock.now, timeoutSeconds: 0.05, breakerFailures: 0 });
    const reasons: string[] = [];
    for (let call = 0; call < 6; call++) {
      reasons.push((await rejection(source.refresh("rsa2048", "RS256"))).message);
      clock.advance(1.2);
    }
    expect(calls).to.equal(4);
    expect(reasons[3]).to.include("no complete answer within 0.05 s");
    expect(reasons[5]).to.include("4 calls of the jwks-rsa client are pending");
    // After these calls have ended, the source calls the client again.
    release.reject(new Error("late"));
    await new Promise((resolve) => setImmediate(resolve));
    await rejection(source.refresh("rsa2048", "RS256"));
    expect(calls).to.equal(5);
  });

  it("rejects a value that is not a client, and unknown options", () => {
    const wrong: readonly unknown[] = [undefined, null, {}, { getSigningKeys: true }];
    for (const client of wrong) {
      expect(() => fromJwksRsa(client as JwksRsaClient)).to.throw(ConfigurationError, "getSigningKeys");
    }
    const client: JwksRsaClient = { getSigningKeys: async () => [] };
    expect(() => fromJwksRsa(client, { url: "x" } as object)).to.throw(ConfigurationError, "url: is unknown");
    expect(() => fromJwksRsa(client, { algorithms: ["HS256"] })).to.throw(ConfigurationError, "HS256");
  });
});

/** Middleware of other libraries that verifies tokens with keys from this package. */
const guards: Readonly<
  Record<string, (source: KeySource) => (req: Request, res: Response, next: NextFunction) => void>
> = {
  "express-jwt": (source) => expressjwt({ secret: expressJwtSecret(source), algorithms: ["RS256", "HS256"] }),
  "passport-jwt": (source) => {
    const own = new passport.Passport();
    const options = {
      jwtFromRequest: ExtractJwt.fromAuthHeaderAsBearerToken(),
      secretOrKeyProvider: passportJwtSecret(source),
      algorithms: ["RS256" as const, "HS256" as const],
    };
    own.use(new Strategy(options, (payload: object, done) => done(null, payload)));
    return own.authenticate("jwt", { session: false }) as ReturnType<(typeof guards)[string]>;
  },
};

for (const [major, express] of Object.entries(expressMajors)) {
  for (const [name, guard] of Object.entries(guards)) {
    describe(`${name} with keys of @svc/jwt-auth on ${major}`, () => {
      async function get(source: KeySource, token: string): Promise<number> {
        const app = express();
        app.get("/", guard(source), (_req: Request, res: Response) => void res.json({ ok: true }));
        app.use((error: { status?: number }, _req: Request, res: Response, _next: NextFunction) => {
          res.status(error.status ?? 500).end();
        });
        await using server = await listen(app);
        return (await request(server.url).get("/").set("authorization", `Bearer ${token}`)).status;
      }

      it("accepts tokens of a published key, and of a key that is published later (CLAIM-6, KEY-2)", async () => {
        await using keys = await issuer(jwkOf("rsa2048"), jwkOf("p256"));
        using source = createKeySetSource({ url: keys.url, env: "local" });
        expect(await get(source, tokenOf())).to.equal(200);
        expect(await get(source, tokenOf())).to.equal(200);
        expect(keys.requests).to.equal(1);
        keys.publish(jwkOf("rsa2048"), jwkOf("otherRsa2048"));
        const key = keyFixture("otherRsa2048").privateKey;
        expect(await get(source, tokenOf({ key, header: { kid: "otherRsa2048" } }))).to.equal(200);
        expect(keys.requests).to.equal(2);
      });

      it("refuses tokens signed with unpublished keys, without a fetch for each token (KEY-1)", async () => {
        await using keys = await issuer(jwkOf("rsa2048"));
        using source = createKeySetSource({ url: keys.url, env: "local" });
        const key = keyFixture("otherRsa2048").privateKey;
        expect(await get(source, tokenOf({ key }))).to.equal(401);
        for (const kid of ["a", "b", "c", "k".repeat(257)]) {
          expect(await get(source, tokenOf({ key, header: { kid } }))).to.equal(401);
        }
        expect(await get(source, tokenOf({ header: { kid: 1 } }))).to.equal(401);
        expect(await get(source, "rubbish")).to.equal(401);
        expect(await get(source, "a.b.c")).to.equal(401);
        expect(keys.requests).to.equal(2);
      });

      it("refuses tokens with an alg for which the source has no key (AUTH-26)", async () => {
        await using keys = await issuer(jwkOf("rsa2048"));
        using source = createKeySetSource({ url: keys.url, env: "local" });
        expect(await get(source, tokenOf({ algorithm: "HS256" }))).to.equal(401);
        expect(await get(source, tokenOf({ header: { alg: "none" } }))).to.equal(401);
        expect(await get(source, tokenOf({ header: { alg: "RS512" } }))).to.equal(401);
      });

      it("accepts a token with a shared-secret source, and rejects a token when keys cannot be fetched", async () => {
        const secret = "a secret of thirty-two bytes, at least";
        const shared = createSecretSource({ secret, algorithms: ["HS256"] });
        const key = createSecretKey(Buffer.from(secret));
        expect(await get(shared, tokenOf({ algorithm: "HS256", key }))).to.equal(200);
        await using keys = await issuer();
        keys.answer(failing(404));
        using source = createKeySetSource({ url: keys.url, env: "local" });
        // passport-jwt treats an error of its key provider as a refused token.
        expect(await get(source, tokenOf())).to.equal(name === "passport-jwt" ? 401 : 500);
      });

      it("accepts a token with keys from a jwks-rsa client", async () => {
        await using keys = await issuer(jwkOf("rsa2048"));
        using source = fromJwksRsa(clientOf(keys.url));
        expect(await get(source, tokenOf())).to.equal(200);
      });
    });
  }
}

describe("passportJwtSecret()", () => {
  it("lets an error of passport's callback reach the caller when the key is at hand, as with plain secretOrKey", () => {
    const provide = passportJwtSecret(
      createSecretSource({ secret: "a secret of thirty-two bytes, at least" }),
    );
    const fails = (): never => {
      throw new Error("a mistake in the callback");
    };
    expect(() => provide({}, tokenOf({ algorithm: "HS256" }), fails)).to.throw("a mistake in the callback");
    expect(() => provide({}, "rubbish", fails)).to.throw("a mistake in the callback");
  });

  it("passes the error of a faulty source to the callback once", async () => {
    const faulty: readonly Pick<KeySource, "find" | "refresh">[] = [
      { find: () => keyFixture("rsa2048").privateKey },
      {
        find: () => {
          throw new Error("broken");
        },
      },
      { find: () => undefined, refresh: async () => keyFixture("rsa2048").privateKey },
      {
        find: () => undefined,
        refresh: () => {
          throw new Error("broken");
        },
      },
    ];
    for (const source of faulty) {
      const provide = passportJwtSecret({ generation: 0, ...source });
      const given = await new Promise<unknown[]>((resolve) =>
        provide({}, tokenOf(), (...values) => resolve(values)),
      );
      expect(given).to.have.length(1);
      expect(given[0]).to.be.instanceOf(Error);
    }
  });
});

describe("the sample with jwks-rsa in the README", () => {
  it("lets express-jwt verify tokens with the keys of a jwks-rsa client (CLAIM-6)", async () => {
    await using keys = await issuer(jwkOf("rsa2048"));
    const readme = new URL("../README.md", import.meta.url);
    const blocks = codeBlocks(await readFile(readme, "utf8"), "js");
    const index = blocks.findIndex((block) => block.includes("fromJwksRsa"));
    await using sample = await runSample(readme, index, {
      replace: { "https://issuer.example/jwks.json": keys.url },
    });
    const url = await sample.url;
    const good = await request(url).get("/orders").set("authorization", `Bearer ${tokenOf()}`);
    expect(good.body).to.deep.equal({ caller: "ada" });
    const refused = await request(url).get("/orders");
    expect([refused.status, refused.type]).to.deep.equal([401, "application/problem+json"]);
    expect(keys.requests).to.equal(1);
    await using down = await issuer();
    down.answer(failing(404));
    await using without = await runSample(readme, index, {
      replace: { "https://issuer.example/jwks.json": down.url },
    });
    const unknown = await request(await without.url)
      .get("/orders")
      .set("authorization", `Bearer ${tokenOf()}`);
    expect([unknown.status, unknown.type]).to.deep.equal([401, "application/problem+json"]);
  });
});
