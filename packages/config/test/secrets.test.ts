import { inspect } from "node:util";
import { describeConfig, loadConfig } from "@svc/config";
import { integer, listOf, objectWith } from "@svc/options";
import { expect } from "chai";
import fc from "fast-check";
import { TomlDate } from "smol-toml";
import { errorOf } from "./support/faults-of.ts";
import { authTable, databaseTable } from "./support/tables.ts";

const canary = "Canary7Zq";
const plugins = { database: databaseTable, auth: authTable };

const good = `
[service]
name = "shop"
version = "\${BUILD}"
[plugins]
enabled = ["database", "auth"]
[plugin.database]
url = "postgres://shop:${canary}@db/shop?password=${canary}"
[plugin.auth]
mode = "secret"
issuer = "https://user:${canary}@issuer.example"
secret = "${canary}"
[plugin.auth.providers.google]
client_id = "public-id"
client_secret = "\${GOOGLE}"
`;
const goodEnv = { BUILD: canary, GOOGLE: canary, SVC_AUTH_SECRET: canary };

/** Returns all parts of an error that a log could print. */
function printed(error: Error): string {
  return inspect(error, { depth: null, showHidden: true }) + JSON.stringify(error) + String(error.cause);
}

describe("secrets", () => {
  const places: readonly ((secret: string) => string)[] = [
    (secret) => `[service]\npassword = ${secret}`,
    (secret) => `[service]\nport = { api_key = ${secret} }`,
    (secret) => `[service]\nport = [{ a = ${secret} }]`,
    (secret) => `[service]\nnaem = ${secret}\nversion = { v = ${secret} }`,
    (secret) => `[plugin.database]\nurl = [${secret}]\npasswrd = ${secret}`,
    (secret) => `[plugin.auth]\nsecret = { value = ${secret} }\nmode = "\${SECRET}"`,
    (secret) => `[plugin.auth.providers.x]\nclient_secret = [${secret}]\nclient_id = 5`,
    (secret) => `[tokens]\na = ${secret}`,
    (secret) => `[service.cors]\norigins = ["https://u:\${SECRET}@a"]\nx = ${secret}`,
    () => '[service]\nport = "${SECRET}"\nenv = "a${SECRET}"\n[plugins]\nenabled = ["${SECRET}"]',
    (secret) => `password = ${secret} ${secret}`,
    (secret) => `[service]\nport = 1\nport = 2 # ${secret}`,
  ];

  it("CFG-13 never appear in an error, for any key and in any form", () => {
    const text = fc.oneof(
      fc.constant(""),
      fc.string(),
      fc.constantFrom("\n", '"', "'", "\\", "${", "://", "@", "}"),
    );
    fc.assert(
      fc.property(fc.constantFrom(...places), text, text, (place, before, after) => {
        const secret = `${before}${canary}${after}`;
        // An error may show the name of a missing variable, so skip references that contain the secret.
        // "$${" is not a reference.
        fc.pre(!/(?<!\$)\$\{\w*Canary/.test(secret));
        const error = errorOf(() =>
          loadConfig({
            text: place(JSON.stringify(secret)),
            env: { SECRET: secret, SVC_AUTH_LEEWAY: "x" },
            plugins,
          }),
        );
        expect(printed(error)).not.to.contain(canary);
      }),
      { numRuns: 1000 },
    );
  });

  it("CFG-13 never appear in the error for a file with one character added, removed or replaced", () => {
    const character = fc.constantFrom("", '"', "'", "\n", "[", "]", "=", "#", "{", "\\", "$", " ", ",", "5");
    fc.assert(
      fc.property(fc.nat(good.length - 1), fc.nat(1), character, (at, removed, inserted) => {
        const text = good.slice(0, at) + inserted + good.slice(at + removed);
        try {
          loadConfig({ text, env: goodEnv, plugins });
        } catch (error) {
          expect(printed(error as Error)).not.to.contain(canary);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it("CFG-13 never appear in the error for an invalid variable", () => {
    const env = {
      SVC_APP_NAME: "a",
      SVC_AUTH_LEEWAY: `postgres://u:${canary}@h`,
      SVC_PORT: `token=${canary}`,
    };
    const error = errorOf(() => loadConfig({ text: '[plugins]\nenabled = ["auth"]', env, plugins }));
    expect(error.faults.map(({ key }) => key)).to.have.members(["SVC_AUTH_LEEWAY", "SVC_PORT"]);
    expect(printed(error)).not.to.contain(canary);
  });

  it("never appear in the notes", () => {
    const config = loadConfig({ text: good, env: { ...goodEnv, SVC_AUTH_SECRET: `${canary}2` }, plugins });
    expect(config.notes).to.deep.equal(["SVC_AUTH_SECRET is used; plugin.auth.secret has a different value"]);
  });
});

describe("describeConfig()", () => {
  it("returns the settings in effect, with every secret masked", () => {
    const config = loadConfig({ text: good, env: goodEnv, plugins });
    const description = describeConfig(config);
    expect(inspect(description, { depth: null })).not.to.contain(canary);
    expect(description).to.deep.include({
      service: { ...config.service, version: "***" },
      logging: config.logging,
      plugins: ["database", "auth"],
      plugin: {
        database: { url: "***", poolSize: 10, statementTimeoutSeconds: undefined },
        auth: {
          mode: "secret",
          algorithms: ["RS256"],
          issuer: "***",
          audience: undefined,
          secret: "***",
          leeway: 30,
          failOpen: true,
          providers: { google: { clientId: "public-id", clientSecret: "***", scopes: ["openid"] } },
        },
      },
    });
  });

  it("masks values with secret names or formats in a list of tables, and keeps numbers and dates", () => {
    const replicas = {
      keys: {
        list: { key: "list", kind: listOf(objectWith<object>("a table")) },
        tokenLifetime: { key: "token_lifetime", kind: integer() },
      },
    };
    const text = `${good}\n[replicas]\ntoken_lifetime = 900\nlist = [
      { host = "a", password = "${canary}", since = 2021-01-01, url = "x://u:${canary}@h", ports = [1, 2] },
    ]`;
    const config = loadConfig({ text, env: goodEnv, plugins, sections: { replicas } });
    expect(describeConfig(config)).to.have.deep.nested.property("sections.replicas", {
      list: [{ host: "a", password: "***", since: new TomlDate("2021-01-01"), url: "***", ports: [1, 2] }],
      tokenLifetime: 900,
    });
  });

  it("rejects a copy, because its secret values are unknown", () => {
    const config = loadConfig({ text: good, env: goodEnv, plugins });
    expect(() => describeConfig({ ...config })).to.throw("must be the object that loadConfig() returned");
  });
});
