import { loadConfig } from "@svc/config";
import { expect } from "chai";
import { errorOf, faultsOf } from "./support/faults-of.ts";
import { authTable, databaseTable } from "./support/tables.ts";

const named = '[service]\nname = "shop"\n';

describe("loadConfig()", () => {
  it("CFG-1 reads [service], [plugins], [plugin.<name>], [plugin.auth.providers.<name>] and [logging]", () => {
    const config = loadConfig({
      text: `
        [service]
        name = "expenses"
        version = "2.4.0"
        env = "staging"
        drain_delay = 1.5
        trusted_proxies = ["10.0.0.0/8", "::1", "loopback"]
        [service.cors]
        origins = ["https://app.example.com"]
        [plugins]
        enabled = ["auth", "database"]
        [plugin.database]
        url = "postgres://db/expenses"
        [plugin.auth.providers.google]
        client_id = "shop"
        client_secret = "s3cret"
        [logging]
        level = "WARNING"
      `,
      env: {},
      plugins: { database: databaseTable, auth: authTable },
    });
    expect(config.service).to.include({
      name: "expenses",
      version: "2.4.0",
      env: "staging",
      drainDelaySeconds: 1.5,
    });
    expect(config.service.trustedProxies).to.deep.equal(["10.0.0.0/8", "::1", "loopback"]);
    expect(config.service.cors.origins).to.deep.equal(["https://app.example.com"]);
    expect(config.plugins).to.deep.equal(["auth", "database"]);
    expect(config.plugin.database).to.deep.equal({
      url: "postgres://db/expenses",
      poolSize: 10,
      statementTimeoutSeconds: undefined,
    });
    expect(config.plugin.auth?.providers["google"]).to.deep.equal({
      clientId: "shop",
      clientSecret: "s3cret",
      scopes: ["openid"],
    });
    expect(config.logging).to.deep.equal({ level: "WARNING", json: true });
  });

  it("CFG-18 applies the defaults for a service that has only a name", () => {
    const { service, logging, plugins, plugin, notes } = loadConfig({ env: { SVC_APP_NAME: "shop" } });
    expect(service).to.deep.equal({
      name: "shop",
      version: "0.1.0",
      env: "local",
      host: "127.0.0.1",
      port: 8000,
      debug: false,
      drainDelaySeconds: 0,
      shutdownTimeoutSeconds: 25,
      requestTimeoutSeconds: 30,
      headersTimeoutSeconds: 10,
      receiveTimeoutSeconds: 60,
      keepAliveTimeoutSeconds: 65,
      sendTimeoutSeconds: 60,
      maxConnections: undefined,
      maxBodyBytes: 2_097_152,
      rawBodyPaths: [],
      streamBodyPaths: [],
      etag: true,
      tune: true,
      readinessTimeoutSeconds: 2,
      trustedProxies: [],
      trustedHosts: [],
      securityHeaders: true,
      cors: {
        origins: [],
        credentials: false,
        methods: ["GET", "HEAD", "PUT", "PATCH", "POST", "DELETE"],
        allowedHeaders: undefined,
        exposedHeaders: ["X-Request-ID"],
        maxAgeSeconds: 600,
      },
    });
    expect(logging).to.deep.equal({ level: "INFO", json: true });
    expect([plugins, plugin, notes]).to.deep.equal([[], {}, []]);
  });

  for (const env of ["dev", "staging", "prod"]) {
    it(`CFG-18 listens on 0.0.0.0 and drains for 5 seconds in ${env}`, () => {
      const { service } = loadConfig({ text: named, env: { SVC_ENV: env } });
      expect(service).to.include({ env, host: "0.0.0.0", drainDelaySeconds: 5 });
    });
  }

  it("CFG-3 prefers the environment to the file for env, debug and port, and adds notes without values", () => {
    const text = `${named} env = "dev"\n debug = false\n port = 9000`;
    const env = { SVC_ENV: "prod", SVC_DEBUG: "true", SVC_PORT: "9100" };
    const { service, notes } = loadConfig({ text, env });
    expect(service).to.include({ env: "prod", debug: true, port: 9100, host: "0.0.0.0" });
    expect(notes).to.deep.equal([
      "SVC_ENV is used; service.env has a different value",
      "SVC_PORT is used; service.port has a different value",
      "SVC_DEBUG is used; service.debug has a different value",
    ]);
  });

  it("CFG-4 prefers the environment to the file for keys with `wins: env`, such as issuer, audience and secret", () => {
    const { plugin } = loadConfig({
      text: `${named}[plugins]\nenabled = ["auth"]\n[plugin.auth]\nissuer = "a"\naudience = "a"\nsecret = "a"`,
      env: { SVC_AUTH_ISSUER: "b", SVC_AUTH_AUDIENCE: '["b", "c"]', SVC_AUTH_SECRET: "b" },
      plugins: { auth: authTable },
    });
    expect(plugin.auth).to.deep.include({ issuer: "b", audience: ["b", "c"], secret: "b" });
  });

  it("CFG-5 prefers the file to the environment for keys without `wins: env`", () => {
    const { service, logging, plugin, notes } = loadConfig({
      text: `${named}[logging]\njson_logs = true\n[plugins]\nenabled = ["auth"]\n[plugin.auth]\nmode = "secret"`,
      env: { SVC_APP_NAME: "other", SVC_LOG_JSON_LOGS: "false", SVC_AUTH_MODE: "jwks" },
      plugins: { auth: authTable },
    });
    expect([service.name, logging.json, plugin.auth?.mode]).to.deep.equal(["shop", true, "secret"]);
    expect(notes).to.deep.equal([
      "service.name is used; SVC_APP_NAME has a different value",
      "logging.json_logs is used; SVC_LOG_JSON_LOGS has a different value",
      "plugin.auth.mode is used; SVC_AUTH_MODE has a different value",
    ]);
  });

  it("adds no note when the file and the environment agree", () => {
    expect(loadConfig({ text: `${named}port = 9000`, env: { SVC_PORT: "9000" } }).notes).to.deep.equal([]);
  });

  it("reads an application's sections with the tables passed as `sections`", () => {
    const { sections } = loadConfig({
      text: `${named}[mail]\nurl = "smtp://mail"\npool_size = 3`,
      env: {},
      sections: { mail: databaseTable },
    });
    expect(sections.mail).to.deep.equal({
      url: "smtp://mail",
      poolSize: 3,
      statementTimeoutSeconds: undefined,
    });
  });

  it("returns a deeply frozen configuration", () => {
    const config = loadConfig({ text: `${named}trusted_hosts = ["a.example"]`, env: {} });
    expect(() => Object.assign(config.service, { port: 1 })).to.throw(TypeError);
    expect(() => Object.assign(config.service.cors.methods, ["TRACE"])).to.throw(TypeError);
    expect(() => Object.assign(config.service.trustedHosts, ["b.example"])).to.throw(TypeError);
  });

  it("EDGE-5 rejects the CORS origin * with credentials", () => {
    expect(faultsOf('[service.cors]\norigins = ["*"]\ncredentials = true')).to.deep.equal([
      'service.cors.origins: must not contain "*" while credentials is true, because then any site could send requests with the cookies of its visitors; ' +
        "list the origins",
    ]);
    const { service } = loadConfig({ text: `${named}[service.cors]\norigins = ["*"]`, env: {} });
    expect(service.cors).to.deep.include({ origins: ["*"], credentials: false });
  });

  it("rejects timeouts that contradict each other", () => {
    expect(faultsOf("[service]\nheaders_timeout = 61\ndrain_delay = 30")).to.deep.equal([
      "service.headers_timeout: must not be longer than receive_timeout",
      "service.drain_delay: must be shorter than shutdown_timeout, the time limit of the whole shutdown",
    ]);
  });

  it("calls a table's check() with the environment from SVC_ENV", () => {
    const text = '[plugins]\nenabled = ["auth"]\n[plugin.auth]\nmode = "secret"\nsecret = "short"';
    expect(faultsOf(text, { SVC_ENV: "prod" })).to.deep.equal([
      "plugin.auth.secret: must have at least 32 bytes in prod",
    ]);
  });

  for (const [key, wrong] of [
    ["trusted_proxies", '["10.0.0.0/33"]'],
    ["trusted_proxies", '["0.0.0.0/0"]'],
    ["trusted_proxies", '["::1.2.3.4"]'],
    ["trusted_proxies", '["proxy.example"]'],
    ["trusted_hosts", '["a.example:80"]'],
    ["host", '""'],
    ["port", "65536"],
    ["request_timeout", "0"],
    ["max_body_bytes", "1.5"],
    ["raw_body_paths", '["/a/"]'],
    ["stream_body_paths", '["/a/../b"]'],
    ["name", '"a\\nb"'],
  ]) {
    it(`rejects ${key} = ${wrong}`, () => {
      expect(faultsOf(`[service]\n${key} = ${wrong}`).join()).to.match(
        new RegExp(`^service.${key}: must be `),
      );
    });
  }

  for (const origin of [
    "https://a.example/",
    "a.example",
    "null",
    "https://a.example/path",
    "ftp://a.example",
  ]) {
    it(`rejects the CORS origin ${origin}`, () => {
      const faults = faultsOf(`[service.cors]\norigins = ["${origin}"]`);
      expect(faults.join()).to.contain(
        "service.cors.origins: must be a list in which each entry is an origin",
      );
    });
  }

  it("rejects unknown options and options of the wrong kind", () => {
    const options: object = { fille: "a.toml", text: 5, sections: { service: databaseTable } };
    const error = errorOf(() => loadConfig(options));
    expect(error.message).to.contain("did you mean file?");
    expect(error.faults.map(({ key }) => key)).to.deep.equal(["fille", "text", "sections"]);
  });
});
