import { collectingLogger } from "@svc/test-support";
import { generateKeyPairSync } from "node:crypto";
import { ConfigurationError } from "@svc/options";
import { oidcLogin, type OidcLoginOptions } from "@svc/oidc-login";
import { expect } from "chai";
import { SECRET } from "./support/service.ts";

const google = {
  clientId: "id",
  clientSecret: "the secret of the client",
  redirectUri: "https://a.example/auth/google/callback",
};
const custom = {
  ...google,
  issuer: "https://id.example",
  jwksUri: "https://id.example/keys",
  authorizationEndpoint: "https://id.example/authorize",
  tokenEndpoint: "https://id.example/token",
};
const good = { providers: { google }, cookieSecret: SECRET };

/** Returns every fault as `key: message`. Takes any object, because JavaScript callers may pass one. */
function faults(options: object): readonly string[] {
  try {
    oidcLogin(options as OidcLoginOptions);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    expect(error.message).not.to.contain("the secret of the client");
    expect(error.message).not.to.contain(SECRET);
    return error.faults.map(({ key, message }) => `${key}: ${message}`);
  }
  return [];
}

const provider = (name: string, options: object): object => ({ ...good, providers: { [name]: options } });

describe("oidcLogin()", () => {
  it("requires only clientId, clientSecret and redirectUri for a built-in provider (OIDC-15, OIDC-16)", () => {
    const at = (name: string) => ({ ...google, redirectUri: `https://a.example/auth/${name}/callback` });
    const providers = { google, microsoft: at("microsoft"), github: at("github") };
    expect(faults({ ...good, providers })).to.eql([]);
  });

  it("requires issuer, jwksUri, authorizationEndpoint and tokenEndpoint for a provider that is not built in (OIDC-15)", () => {
    expect(faults(provider("acme", custom))).to.eql([]);
    for (const key of ["issuer", "jwksUri", "authorizationEndpoint", "tokenEndpoint"]) {
      expect(faults(provider("acme", { ...custom, [key]: undefined }))).to.eql([
        `providers.acme.${key}: is required: acme is not a built-in provider`,
      ]);
    }
    expect(faults(provider("acme", google))).to.have.length(4);
    expect(faults(provider("gogle", { ...custom, issuer: undefined }))).to.eql([
      "providers.gogle.issuer: is required: gogle is not a built-in provider; did you mean google?",
    ]);
  });

  it("requires a non-empty clientId, clientSecret and redirectUri for every provider (OIDC-15)", () => {
    for (const key of ["clientId", "clientSecret", "redirectUri"]) {
      for (const value of [undefined, "", 7]) {
        const [fault, ...more] = faults(provider("google", { ...google, [key]: value }));
        expect(more).to.eql([]);
        expect(fault).to.match(new RegExp(`^providers\\.google\\.${key}: .*must be a non-empty string`));
      }
    }
  });

  it("accepts valid options even if the logger throws or rejects when a warning is logged", async () => {
    const throws = (): never => {
      throw new Error("the disk is full");
    };
    const rejects = (): never => Promise.reject(new Error("the disk is full")) as never;
    for (const fail of [throws, rejects]) {
      const logger = { debug: fail, info: fail, warn: fail, error: fail, fatal: fail };
      await using login = oidcLogin({ ...good, onIdentity: undefined, logger });
      expect(login.readiness().name).to.equal("oidc-login");
    }
  });

  it("reports all faults at once, by provider and key", () => {
    const providers = { google: { ...google, clientID: "x" }, acme: google, "Bad Name": google };
    const found = faults({ providers, cookieSecret: "short" });
    expect(found.map((each) => each.split(":")[0])).to.have.members([
      "cookieSecret",
      "providers.google.clientID",
      "providers.acme.issuer",
      "providers.acme.authorizationEndpoint",
      "providers.acme.tokenEndpoint",
      "providers.acme.jwksUri",
      "providers.Bad Name",
    ]);
    expect(found).to.include("providers.google.clientID: is unknown; did you mean clientId?");
  });

  it("rejects unknown and invalid options", () => {
    expect(faults({ ...good, cookieSecrets: SECRET })).to.eql([
      "cookieSecrets: is unknown; did you mean cookieSecret?",
    ]);
    const wrong = { prefix: "auth", env: "production", onIdentity: "x", exchangeTimeoutSeconds: 0, now: 7 };
    expect(faults({ ...good, ...wrong }).map((each) => each.split(":")[0])).to.have.members(
      Object.keys(wrong),
    );
    for (const prefix of ["/", "/auth/", "auth", "/a b", "//a", "/a?b"])
      expect(faults({ ...good, prefix })).to.have.length(1);
    for (const providers of [undefined, {}, null, "google"])
      expect(faults({ ...good, providers })).to.have.length(1);
    expect(faults(provider("google", { ...google, scopes: ["a b"] }))).to.have.length(1);
    for (const name of ["a:b", "A", "", "-a", "a/b", "a".repeat(64)])
      expect(faults(provider(name, custom))).to.have.length(1);
  });

  it("rejects a short cookie secret, a key used as cookie secret, and a third secret", () => {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const bad = [
      "",
      "a".repeat(31),
      [],
      [SECRET, SECRET, SECRET],
      [SECRET, "short"],
      ["short", SECRET],
      publicKey.export({ type: "spki", format: "pem" }).toString(),
      privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
      JSON.stringify(publicKey.export({ format: "jwk" })),
      `ssh-ed25519 ${"A".repeat(68)}`,
      7,
    ];
    for (const cookieSecret of bad)
      expect(faults({ ...good, cookieSecret }), String(cookieSecret)).to.have.length(1);
    for (const cookieSecret of ["ü".repeat(16), [SECRET], [SECRET, `${SECRET}2`]])
      expect(faults({ ...good, cookieSecret })).to.eql([]);
  });

  it("rejects plain http in prod and staging, and accepts it in local and dev", () => {
    for (const key of ["redirectUri", "jwksUri", "authorizationEndpoint", "tokenEndpoint"] as const) {
      const plain = { ...custom, [key]: custom[key].replace("https:", "http:") };
      for (const env of ["local", "dev"]) expect(faults({ ...provider("acme", plain), env })).to.eql([]);
      for (const env of ["staging", "prod"]) {
        expect(faults({ ...provider("acme", plain), env })).to.eql([
          `providers.acme.${key}: must begin with https:// in ${env}: over plain http, anyone can read and change the traffic`,
        ]);
      }
    }
  });

  it("rejects malformed addresses, and addresses with a password or a fragment", () => {
    for (const address of ["nowhere", "ftp://a.example", "https://u:p@a.example/", "https://a.example/#a"]) {
      for (const key of ["jwksUri", "authorizationEndpoint", "tokenEndpoint"])
        expect(faults(provider("acme", { ...custom, [key]: address }))).to.have.length(1);
    }
    expect(faults(provider("google", { ...google, redirectUri: "https://a.example/x?y=1" }))).to.have.length(
      1,
    );
  });

  it("rejects authorizationParameters that it sets itself (OIDC-3)", () => {
    for (const key of ["state", "nonce", "code_challenge", "redirect_uri", "response_mode", "client_id"]) {
      const found = faults(provider("google", { ...google, authorizationParameters: { [key]: "x" } }));
      expect(found[0]).to.contain(`must not contain ${key}`);
    }
    expect(faults(provider("google", { ...google, authorizationParameters: { prompt: "login" } }))).to.eql(
      [],
    );
  });

  it("rejects parameters that it sets itself in the query of authorizationEndpoint (OIDC-3)", () => {
    for (const key of ["response_mode", "state", "request", "request_uri"]) {
      const authorizationEndpoint = `https://id.example/authorize?${key}=x`;
      const found = faults(provider("google", { ...google, authorizationEndpoint }));
      expect(found[0]).to.contain(`must not have the parameter ${key}`);
    }
    const authorizationEndpoint = "https://id.example/authorize?policy=sign-in";
    expect(faults(provider("google", { ...google, authorizationEndpoint }))).to.eql([]);
  });

  it("rejects the same callback address for two providers, whose codes could be mixed up (OIDC-12)", () => {
    const providers = { google, github: google };
    expect(faults({ ...good, providers })).to.eql([
      "providers.github.redirectUri: is already used by google; each provider needs a different URL",
    ]);
  });

  it("does not show a secret in an error when it was given in the wrong option", () => {
    const text = "secret-in-the-wrong-place";
    const wrong = [
      text,
      [{ clientSecret: text }],
      { google: text },
      { google: { ...google, clientSecret: [text] } },
      { google: { ...google, client_secret: text } },
      { google: { ...google, authorizationParameters: [text] } },
      { google: { ...google, redirectUri: `https://u:${text}@orders.example/` } },
    ];
    for (const providers of wrong) {
      const found = faults({ ...good, providers });
      expect(found).to.have.length.at.least(1);
      expect(found.join("\n")).not.to.contain(text);
    }
  });

  it("rejects scopes without openid, and algorithms with a shared secret (OIDC-9)", () => {
    expect(faults(provider("google", { ...google, scopes: ["email"] }))[0]).to.contain("must contain openid");
    expect(faults(provider("github", { ...google, scopes: ["email"] }))).to.eql([]);
    for (const algorithms of [["HS256"], ["none"], [], ["RS256", "HS256"]])
      expect(faults(provider("google", { ...google, algorithms }))[0]).to.match(
        /^providers\.google\.algorithms: /,
      );
  });

  it("accepts directories only for microsoft (OIDC-16)", () => {
    const id = "72f988bf-86f1-41af-91ab-2d7cd011db47";
    expect(
      faults(provider("microsoft", { ...google, directory: id.toUpperCase(), directories: [id] })),
    ).to.eql([]);
    expect(faults(provider("microsoft", { ...google, directory: "contoso.com" }))).to.have.length(1);
    expect(faults(provider("microsoft", { ...google, directories: [] }))).to.have.length(1);
    expect(faults(provider("microsoft", { ...google, directories: ["contoso"] }))).to.have.length(1);
    expect(faults(provider("microsoft", { ...google, issuer: "https://id.example/" }))).to.have.length(1);
    expect(faults(provider("google", { ...google, directory: "common" }))).to.have.length(1);
  });

  it("warns about missing handlers and a redirectUri that is not the callback route (OIDC-11, OIDC-17)", () => {
    const logger = collectingLogger();
    oidcLogin({ providers: { github: google }, cookieSecret: SECRET, logger });
    expect(logger.lines.map(({ level, message }) => [level, message])).to.eql([
      ["warn", "oidcLogin() has no onIdentity: every callback will return 500"],
      ["warn", "oidcLogin() has no onAccessToken: sign-ins with this provider will be refused"],
      [
        "warn",
        "providers.github.redirectUri does not end in /<provider>/callback, which is the route of this service",
      ],
    ]);
    expect(logger.lines.slice(1).map(({ fields }) => fields)).to.eql([
      { provider: "github" },
      { provider: "github" },
    ]);
    const quiet = collectingLogger();
    oidcLogin({ ...good, onIdentity: () => null, logger: quiet });
    expect(quiet.lines).to.eql([]);
  });
});
