import { loadConfig, processEnvironment, readText } from "@svc/config";
import { boolean, integer, listOf, number, string } from "@svc/options";
import { expect } from "chai";
import fc from "fast-check";
import { errorOf, faultsOf } from "./support/faults-of.ts";
import { authTable } from "./support/tables.ts";

describe("loadConfig() with environment variables", () => {
  it("ENV-1 ENV-2 ENV-3 ENV-4 ENV-5 reads the settings name, env, port, debug and JSON logs from variables without a file", () => {
    const { service, logging } = loadConfig({
      env: {
        SVC_APP_NAME: "shop",
        SVC_ENV: "prod",
        SVC_PORT: "9200",
        SVC_DEBUG: "on",
        SVC_LOG_JSON_LOGS: "off",
      },
    });
    expect(service).to.include({ name: "shop", env: "prod", port: 9200, debug: true });
    expect(logging.json).to.equal(false);
  });

  it("ENV-1 requires a service name, in the file or as SVC_APP_NAME", () => {
    const rest = "and must be 1 to 100 characters without control characters";
    expect(errorOf(() => loadConfig({ text: "", env: {} })).faults).to.deep.equal([
      { key: "service.name", message: `is required (here or as SVC_APP_NAME) ${rest}` },
    ]);
    expect(errorOf(() => loadConfig({ env: {} })).faults).to.deep.equal([
      { key: "SVC_APP_NAME", message: `is required ${rest}` },
    ]);
  });

  it("ENV-2 rejects an unknown SVC_ENV, and lists the known environments", () => {
    expect(faultsOf("", { SVC_ENV: "production" })).to.deep.equal([
      'SVC_ENV: must be one of "local", "dev", "staging", "prod"; it is "production"; did you mean "prod"?',
    ]);
  });

  for (const text of ["true", "TRUE", "1", "yes", "Yes", "on"]) {
    it(`ENV-4 reads SVC_DEBUG=${text} as true`, () => {
      expect(loadConfig({ env: { SVC_APP_NAME: "a", SVC_DEBUG: text } }).service.debug).to.equal(true);
    });
  }

  for (const text of ["false", "False", "0", "no", "OFF"]) {
    it(`ENV-5 reads SVC_LOG_JSON_LOGS=${text} as false`, () => {
      expect(loadConfig({ env: { SVC_APP_NAME: "a", SVC_LOG_JSON_LOGS: text } }).logging.json).to.equal(
        false,
      );
    });
  }

  for (const [name, text] of [
    ["SVC_DEBUG", "ja"],
    ["SVC_DEBUG", " true"],
    ["SVC_PORT", "80a"],
    ["SVC_PORT", "0x50"],
    ["SVC_PORT", "080"],
    ["SVC_PORT", "8e3"],
    ["SVC_PORT", "65536"],
    ["SVC_PORT", "-1"],
    ["SVC_PORT", "80.5"],
    ["SVC_PORT", "Infinity"],
  ] as const) {
    it(`ENV-3 ENV-4 rejects ${name}=${text} and names the variable`, () => {
      const faults = faultsOf("", { [name]: text });
      expect(faults).to.have.lengthOf(1);
      expect(faults[0]).to.match(new RegExp(`^${name}: must be .*; it is "`));
    });
  }

  it("treats an empty variable as unset", () => {
    const env = { SVC_APP_NAME: "shop", SVC_PORT: "", SVC_DEBUG: "", SVC_ENV: "" };
    expect(loadConfig({ env }).service).to.include({ port: 8000, debug: false, env: "local" });
  });

  it("reports an invalid variable even when the file sets the value", () => {
    const faults = faultsOf("[logging]\njson_logs = true", { SVC_LOG_JSON_LOGS: "maybe" });
    expect(faults).to.deep.equal(['SVC_LOG_JSON_LOGS: must be true or false; it is "maybe"']);
  });

  it("ENV-6 ignores unknown variables, and adds a note about those that begin with SVC_, with the most similar known name", () => {
    const env = {
      SVC_APP_NAME: "a",
      SVC_POTR: "1",
      SVC_HOST: "::",
      SVC_TEST_REDIS_URL: "x",
      HOST: "::",
      PORT: "1",
    };
    const { service, notes } = loadConfig({ env });
    expect(service).to.include({ host: "127.0.0.1", port: 8000 });
    expect(notes).to.deep.equal([
      "the environment variable SVC_HOST is not read by this service; did you mean SVC_PORT?",
      "the environment variable SVC_POTR is not read by this service; did you mean SVC_PORT?",
    ]);
  });

  it("adds no note about an SVC_ variable that the file refers to", () => {
    const text = '[service]\nversion = "${SVC_BUILD}"';
    const { service, notes } = loadConfig({ text, env: { SVC_APP_NAME: "a", SVC_BUILD: "7" } });
    expect([service.version, notes]).to.deep.equal(["7", []]);
  });

  it("adds a note about a disabled plugin's variable, without its value", () => {
    const plugins = { auth: authTable };
    const env = { SVC_APP_NAME: "a", SVC_AUTH_LEEWAY: "7", SVC_AUTH_ISSUER: "" };
    expect(loadConfig({ env, plugins }).notes).to.deep.equal([
      "SVC_AUTH_LEEWAY is not used: the plugin auth is not enabled",
    ]);
    expect(loadConfig({ env, plugins, defaultPlugins: ["auth"] }).notes).to.deep.equal([]);
  });

  it("processEnvironment() returns process.env", () => {
    expect(processEnvironment()).to.equal(process.env);
  });

  it("reads process.env by default", () => {
    const before = process.env["SVC_APP_NAME"];
    process.env["SVC_APP_NAME"] = "from-the-process";
    try {
      expect(loadConfig().service.name).to.equal("from-the-process");
    } finally {
      if (before === undefined) delete process.env["SVC_APP_NAME"];
      else process.env["SVC_APP_NAME"] = before;
    }
  });
});

describe("readText()", () => {
  const strings = listOf(string());

  it("reads a list from a JSON array, or from words separated by commas or spaces", () => {
    expect(readText(strings, '["a b", "c,d"]')).to.deep.equal({ value: ["a b", "c,d"] });
    expect(readText(strings, "a, b c,d,")).to.deep.equal({ value: ["a", "b", "c", "d"] });
    expect(readText(strings, "a")).to.deep.equal({ value: ["a"] });
    expect(readText(listOf(integer()), "1,2 3")).to.deep.equal({ value: [1, 2, 3] });
  });

  it("rejects a list that is malformed JSON, has only commas or has entries of the wrong kind", () => {
    for (const text of ['["a"', "[a, b]", ",", '["a", 1]', "[]]"]) {
      expect(readText(strings, text), text).to.equal(undefined);
    }
    expect(readText(listOf(integer()), "1,x")).to.equal(undefined);
  });

  it("returns the string unchanged for a string kind", () => {
    for (const text of ["8000", "true", "[1]", "a,b"]) {
      expect(readText(string(), text)).to.deep.equal({ value: text });
    }
  });

  it("reads every number and boolean from its string form", () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.boolean(), (whole, truth) => {
        expect(readText(integer(), String(whole))).to.deep.equal({ value: whole });
        expect(readText(number(), String(whole))).to.deep.equal({ value: whole });
        expect(readText(boolean(), String(truth))).to.deep.equal({ value: truth });
      }),
    );
  });

  it("never throws, and returns only values that the kind accepts", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        for (const kind of [string(), integer(), boolean(), strings]) {
          const read = readText<unknown>(kind, text);
          expect(read === undefined || kind.accepts(read.value)).to.equal(true);
        }
      }),
    );
  });
});
