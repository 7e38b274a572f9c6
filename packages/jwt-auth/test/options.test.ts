import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createSecretSource, jwtAuth, type JwtAuthOptions, type KeySource } from "@svc/jwt-auth";
import { ConfigurationError } from "@svc/options";
import { collectingLogger, listen } from "@svc/test-support";
import { expect } from "chai";
import { everyKey } from "./support/fixed-keys.ts";
import { forge, now } from "./support/forge.ts";
import { keyFixture, keyFor, pemOf } from "./support/key-fixtures.ts";

const secret = "s".repeat(32);
const publicKey = pemOf("rsa2048");

/** Returns the faults of a configuration, each as `option: message`. */
function faultsOf(options: object): readonly string[] {
  try {
    jwtAuth(options as JwtAuthOptions).stop();
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    expect(error.message).to.match(/^jwtAuth\(\) is configured wrongly/);
    expect(error.code).to.equal("ERR_SVC_CONFIGURATION");
    return error.faults.map(({ key, message }) => `${key}: ${message}`);
  }
  return [];
}

describe("the option checks of jwtAuth()", () => {
  it("accept a mode with its key, or the key alone (AUTH-2)", async () => {
    const sharedKey = keyFor("HS256").privateKey.export();
    for (const [options, algorithm] of [
      [{ mode: "secret", secret: sharedKey }, "HS256"],
      [{ secret: sharedKey }, "HS256"],
      [{ secret: sharedKey, algorithms: ["HS512"] }, "HS512"],
      [{ mode: "public_key", publicKey }, "RS256"],
      [{ publicKey }, "RS256"],
      [{ publicKey: pemOf("p256"), algorithms: ["ES256"] }, "ES256"],
      [{ keys: everyKey() }, "RS256"],
    ] as const) {
      const { verifier } = jwtAuth({ ...options, now });
      expect(verifier.algorithms).to.eql([algorithm]);
      expect(await verifier.verify(forge({ algorithm }))).to.have.nested.property("principal.subject", "ada");
    }
    const auth = jwtAuth({ mode: "jwks", jwksUrl: "https://issuer.invalid/jwks", jwksAttempts: 1 });
    expect(auth.verifier.algorithms).to.eql(["RS256"]);
    auth.stop();
  });

  it("reject a missing key, several keys, and a key of another mode (AUTH-2)", () => {
    for (const [options, expected] of [
      [{}, /^jwksUrl: is missing: set jwksUrl, publicKey, secret, keys, discovery or issuers$/],
      [{ mode: "jwks" }, /^jwksUrl: is required in mode jwks$/],
      [{ mode: "public_key" }, /^publicKey: is required in mode public_key$/],
      [{ mode: "secret" }, /^secret: is required in mode secret$/],
      [{ secret, publicKey }, /^publicKey, secret: cannot be combined/],
      [{ jwksUrl: "https://x.invalid/", keys: everyKey() }, /^jwksUrl, keys: cannot be combined/],
      [{ mode: "jwks", secret }, /^mode: is jwks, which needs jwksUrl; secret is set$/],
      [
        { mode: "secret", publicKey, algorithms: ["RS256"] },
        /^mode: is secret, which needs secret; publicKey/,
      ],
      [{ mode: "secret", keys: everyKey() }, /^mode: is secret, which needs secret; keys is set$/],
      [{ mode: "jwk", secret }, /^mode: must be one of "jwks", "public_key", "secret"; it is "jwk"$/],
      [{ secret: "" }, /^secret: must be .*not shown/],
      [{ jwksUrl: "" }, /^jwksUrl: must be/],
    ] as const) {
      const faults = faultsOf(options);
      expect(faults, JSON.stringify(options)).to.have.length(1);
      expect(faults[0]).to.match(expected);
    }
  });

  it("reject a list of symmetric and asymmetric algorithms, and name them (AUTH-5)", () => {
    for (const key of [{ secret }, { publicKey }, { jwksUrl: "https://x.invalid/" }, { keys: everyKey() }]) {
      const faults = faultsOf({ ...key, algorithms: ["RS256", "HS256", "ES256", "HS512"] });
      expect(faults).to.have.length(1);
      expect(faults[0]).to.match(
        /^algorithms: mixes the symmetric HS256, HS512 with the asymmetric RS256, ES256/,
      );
      expect(faults[0]).to.include("pick one family");
    }
  });

  it("reject the algorithm none, unknown algorithms and an empty list (AUTH-4, AUTH-26)", () => {
    for (const algorithms of [["none"], ["RS256", "NONE"], ["RS255"], [], ["HS256 "], [7]]) {
      const faults = faultsOf({ publicKey, algorithms });
      expect(faults, JSON.stringify(algorithms)).to.have.length(1);
      expect(faults[0]).to.match(/^algorithms: /);
    }
    expect(faultsOf({ publicKey, algorithms: "RS256" })[0]).to.match(/^algorithms: must be a list/);
  });

  it("reject algorithms of a family that does not suit the key (AUTH-5)", () => {
    expect(faultsOf({ publicKey, algorithms: ["HS256"] })).to.eql([
      "algorithms: has HS256; with publicKey, use RS*, PS*, ES* or EdDSA",
    ]);
    expect(faultsOf({ jwksUrl: "https://x.invalid/", algorithms: ["HS256"] })).to.eql([
      "algorithms: has HS256; with jwksUrl, use RS*, PS*, ES* or EdDSA",
    ]);
    expect(faultsOf({ secret, algorithms: ["RS256"] })).to.eql([
      "algorithms: has RS256; with a secret, use HS256, HS384 or HS512",
    ]);
  });

  it("reject a secret of less than 32 bytes in prod, the default env (AUTH-31)", () => {
    const short = "x".repeat(31);
    for (const env of [undefined, "prod"]) {
      const faults = faultsOf({ secret: short, env });
      expect(faults).to.have.length(1);
      expect(faults[0]).to.match(/^secret: .*32/);
      expect(faults[0]).to.not.include(short);
    }
    for (const env of ["local", "dev", "staging"]) expect(faultsOf({ secret: short, env })).to.eql([]);
    expect(faultsOf({ secret: `${short}x` })).to.eql([]);
  });

  it("reject a PEM or an SSH key as a secret in every environment (AUTH-32)", () => {
    const ssh = `ssh-ed25519 ${"A".repeat(60)} ada@example`;
    for (const env of ["local", "dev", "staging", "prod"]) {
      for (const wrong of [publicKey, ` \n${publicKey}`, publicKey.replaceAll("\n", "\\n"), ssh]) {
        const faults = faultsOf({ secret: wrong, env });
        expect(faults).to.have.length(1);
        expect(faults[0]).to.match(/^secret: /);
        expect(faults[0]).to.not.include(wrong.slice(30, 50));
      }
    }
  });

  it("reject a private key, a short key and a string that is not a key as publicKey (AUTH-25)", () => {
    const { privateKey } = keyFixture("rsa2048");
    const wrong = [
      privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
      pemOf("rsa1024"),
      pemOf("p256"),
      "not a pem",
    ];
    for (const each of wrong) expect(faultsOf({ publicKey: each })[0]).to.match(/^(publicKey|algorithms): /);
  });

  it("reject plain http for the key set in prod", () => {
    expect(faultsOf({ jwksUrl: "http://issuer.invalid/" })[0]).to.match(/^jwksUrl: must begin with https:/);
    expect(faultsOf({ jwksUrl: "nonsense" })[0]).to.match(/^jwksUrl: must be a valid URL/);
  });

  it("reject an unknown option and suggest the nearest name", () => {
    expect(faultsOf({ secret, audiense: "x" })).to.eql(["audiense: is unknown; did you mean audience?"]);
    expect(faultsOf({ secret, jwks_url: "x" })).to.eql(["jwks_url: is unknown; did you mean jwksUrl?"]);
  });

  it("report all values of the wrong type at once, without showing a key", () => {
    const faults = faultsOf({
      secret: 7,
      publicKey: {},
      leewaySeconds: "30",
      audience: [7],
      revocation: {},
      revocationFailOpen: "yes",
      revocationTimeoutSeconds: 0,
      tokenFrom: "cookie",
      logger: {},
      env: "production",
      now: 7,
    });
    expect(faults.map((fault) => fault.slice(0, fault.indexOf(":")))).to.have.members([
      "secret",
      "publicKey",
      "leewaySeconds",
      "audience",
      "revocation",
      "revocationFailOpen",
      "revocationTimeoutSeconds",
      "tokenFrom",
      "logger",
      "env",
      "now",
    ]);
  });

  it("report faults of the verifier and the key source under the option names of jwtAuth()", () => {
    const faults = faultsOf({
      jwksUrl: "https://x.invalid/",
      jwksTimeoutSeconds: -1,
      jwksAttempts: 99,
      jwksBreakerFailures: -1,
      jwksBreakerCoolDownSeconds: 0,
      leewaySeconds: -1,
      cacheTokens: -1,
    });
    expect(faults.map((fault) => fault.slice(0, fault.indexOf(":")))).to.have.members([
      "jwksTimeoutSeconds",
      "jwksAttempts",
      "jwksBreakerFailures",
      "jwksBreakerCoolDownSeconds",
      "leewaySeconds",
      "cacheTokens",
    ]);
    expect(faultsOf({ secret, scopeClaim: "grt" })[0]).to.match(/^scopeClaim: must not be grt/);
  });

  it("reject a request or undefined in place of the options", () => {
    expect(faultsOf({ headers: {}, method: "GET", socket: {} })[0]).to.include("write app.use(jwtAuth())");
    expect(() => jwtAuth(undefined as never)).to.throw(ConfigurationError, "jwksUrl: is missing");
  });

  it("log one warning at construction when no audience is configured (AUTH-7)", () => {
    for (const audience of [undefined, "", []]) {
      const logger = collectingLogger();
      const auth = jwtAuth({ secret, audience, logger });
      void auth.verifier.verify("x");
      expect(logger.at("warn")).to.eql([
        "no audience is configured: tokens issued for other services are accepted",
      ]);
    }
    const logger = collectingLogger();
    jwtAuth({ secret, audience: "api", logger });
    jwtAuth({ secret, audience: ["api", "web"], logger });
    expect(logger.lines).to.eql([]);
  });

  it("pass valid values to the verifier (AUTH-6, AUTH-8, CLAIM-1)", async () => {
    const { verifier } = jwtAuth({
      keys: everyKey(),
      algorithms: ["HS256"],
      issuer: "i",
      audience: ["a", "b"],
      leewaySeconds: 0,
      scopeClaim: "scp",
      rolesClaim: "groups",
      tenantClaim: "org",
      cacheTokens: 0,
      now,
    });
    const claims = { iss: "i", aud: "b", scp: "x", groups: ["g"], org: "o" };
    const found = await verifier.verify(forge({ algorithm: "HS256", claims }));
    expect(found.principal).to.deep.include({ scopes: ["x"], roles: ["g"], tenant: "o", issuer: "i" });
    expect(await verifier.verify(forge({ algorithm: "HS256" }))).to.include({ reason: "claim_missing" });
    expect([verifier.leewaySeconds, verifier.cachedTokens]).to.eql([0, 0]);
  });
});

describe("jwtAuth() and its key source", () => {
  /** Returns a key source that counts the calls of stop(). */
  function counted(): KeySource & { stopped: number } {
    return {
      ...everyKey(),
      stopped: 0,
      stop() {
        this.stopped += 1;
      },
    };
  }

  it("takes the algorithms of the application's key source, or RS256 when it lists none (AUTH-3)", () => {
    const keys = createSecretSource({ secret, algorithms: ["HS384"] });
    expect(jwtAuth({ keys }).verifier.algorithms).to.eql(["HS384"]);
    expect(jwtAuth({ keys: everyKey() }).verifier.algorithms).to.eql(["RS256"]);
    expect(faultsOf({ keys, algorithms: ["HS256"] })[0]).to.match(/^algorithms: has HS256, for which/);
  });

  it("does not stop the application's own key source", async () => {
    const keys = counted();
    {
      await using auth = jwtAuth({ keys });
      auth.stop();
    }
    expect(keys.stopped).to.equal(0);
  });

  it("stops its own key source, and can be stopped twice", async () => {
    await using auth = jwtAuth({ jwksUrl: "https://issuer.invalid/jwks", jwksAttempts: 1 });
    auth.stop();
    auth.stop();
    expect(auth.verifier.keys.generation).to.be.a("number");
  });

  it("aborts a running fetch when it is stopped", async () => {
    const issuer = createServer();
    await using server = await listen(issuer);
    const asked = once(issuer, "request");
    // The timeout is longer than the test's own, so that only stop() can end the fetch.
    const auth = jwtAuth({ jwksUrl: server.url, jwksTimeoutSeconds: 60, jwksAttempts: 1, env: "local" });
    const [, response] = (await asked) as [IncomingMessage, ServerResponse];
    const gone = once(response, "close");
    auth.stop();
    await gone;
    expect(response.writableFinished).to.equal(false);
  });

  it("returns a middleware with a name and three parameters", () => {
    const auth = jwtAuth({ secret });
    expect([auth.name, auth.length]).to.eql(["jwtAuthMiddleware", 3]);
  });
});
