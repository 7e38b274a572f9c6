import { loadConfig, pluginNames } from "@svc/config";
import { expect } from "chai";
import { faultsOf } from "./support/faults-of.ts";
import { authTable, databaseTable } from "./support/tables.ts";

const env = { SVC_APP_NAME: "shop" };
const plugins = { database: databaseTable, auth: authTable };

describe("plugins", () => {
  it("CFG-6 are enabled in the order of [plugins] enabled, each only once", () => {
    const config = loadConfig({
      text: '[plugins]\nenabled = ["auth", "database", "auth"]\n[plugin.database]\nurl = "x"',
      env,
      plugins,
    });
    expect(config.plugins).to.deep.equal(["auth", "database"]);
    expect(config.plugin).to.have.all.keys("auth", "database");
  });

  it("CFG-6 default to those in defaultPlugins when the file does not set [plugins] enabled", () => {
    expect(loadConfig({ env, plugins, defaultPlugins: ["auth"] }).plugins).to.deep.equal(["auth"]);
    const text = "[plugins]\nenabled = []";
    expect(loadConfig({ text, env, plugins, defaultPlugins: ["auth"] }).plugins).to.deep.equal([]);
  });

  it("CFG-7 have the contract's twelve names and six more", () => {
    expect(pluginNames.slice(0, 12)).to.have.members(
      "observability metrics cache auth tenancy database http telemetry queue events rag llm".split(" "),
    );
    expect(pluginNames.slice(12)).to.have.members(
      "rate_limit openapi scheduler gateway storage rollups".split(" "),
    );
  });

  it("CFG-8 are rejected when they are unknown or not implemented, and the error names the available ones", () => {
    expect(faultsOf('[plugins]\nenabled = ["cache", "metricss", "constructor"]')).to.deep.equal([
      "plugins.enabled: cache is not implemented yet; available plugins: database, auth",
      'plugins.enabled: "metricss" is not a plugin; did you mean metrics? (available plugins: database, auth)',
      'plugins.enabled: "constructor" is not a plugin (available plugins: database, auth)',
    ]);
    expect(faultsOf("[plugin.databse]\n[plugins]\nenabled = 'auth'")).to.deep.equal([
      'plugins.enabled: must be a list in which each entry is a non-empty string; it is "auth"',
      "plugin.databse: is not a plugin; did you mean database? (available plugins: database, auth)",
    ]);
  });

  it("CFG-8 are rejected with a message that says what to do when the name is a feature without a plugin", () => {
    expect(faultsOf('[plugins]\nenabled = ["scheduler"]')).to.deep.equal([
      "plugins.enabled: the plugin queue runs schedules: remove scheduler from [plugins] enabled; available plugins: database, auth",
    ]);
    const config = loadConfig({ text: "[plugin.scheduler]", env, plugins });
    expect(config.notes).to.deep.equal(["[plugin.scheduler] is not read: the plugin queue runs schedules"]);
  });

  it("CFG-8 are also rejected in defaultPlugins when they are not implemented", () => {
    // @ts-expect-error -- JavaScript callers can pass any name
    expect(() => loadConfig({ env, plugins, defaultPlugins: ["cache"] })).to.throw(
      "cache is not implemented yet",
    );
  });

  it("need no settings while disabled, and notes say that their sections and variables are not used", () => {
    const config = loadConfig({
      text: "[plugin.database]\npool_size = 5\n[plugin.cache]\nurl = 'x'",
      env: { ...env, SVC_AUTH_LEEWAY: "never" },
      plugins,
    });
    expect(config.plugin).to.deep.equal({});
    expect(config.notes).to.deep.equal([
      "[plugin.database] is not used: database is not in [plugins] enabled",
      "[plugin.cache] is not read: cache is not implemented yet",
      "SVC_AUTH_LEEWAY is not used: the plugin auth is not enabled",
    ]);
  });

  it("are rejected for an invalid key in a nested table even while disabled", () => {
    const off = { keys: { inner: { key: "inner", table: databaseTable } } };
    const text = "[plugin.off.inner]\npool_size = 0";
    expect(() => loadConfig({ text, env, plugins: { off } })).to.throw("plugin.off.inner.pool_size: must be");
  });

  it("are rejected for an unknown or invalid key even while disabled", () => {
    const text =
      '[plugin.database]\npool_sise = 5\n[plugin.auth.providers.a]\nclient_id = ""\n[plugin.auth]\nmode = 1';
    expect(faultsOf(text)).to.deep.equal([
      "plugin.database.pool_sise: is unknown; did you mean pool_size?",
      'plugin.auth.mode: must be one of "secret", "public_key", "jwks"; it is 1',
      'plugin.auth.providers.a.client_id: must be a non-empty string; it is ""',
    ]);
  });
});
