import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { configurationExitCode, loadConfig } from "@svc/config";
import { expect } from "chai";
import { errorOf, faultsOf } from "./support/faults-of.ts";

describe("faults", () => {
  it("CFG-12 are all reported together, from the file, the environment and the plugins", () => {
    const text = `
      nmae = "x"
      [sevice]
      [service]
      prt = 80
      etag = "yes"
      [logging]
      level = "LOUD"
      [plugins]
      enabled = ["databse", "auth"]
      [plugin.auth]
      mode = "oauth"
      [plugin.auth.providers.google]
      client_id = 5
    `;
    expect(faultsOf(text, { SVC_PORT: "http" })).to.deep.equal([
      "nmae: is unknown; expected one of service, logging, plugins, plugin",
      "sevice: is unknown; did you mean service?",
      "service.prt: is unknown; did you mean port?",
      'SVC_PORT: must be a whole number from 0 to 65535; it is "http"',
      'service.etag: must be true or false; it is "yes"',
      'logging.level: must be one of TRACE, DEBUG, INFO, WARN, WARNING, ERROR, FATAL, CRITICAL, SILENT, in any case; it is "LOUD"',
      'plugins.enabled: "databse" is not a plugin; did you mean database? (available plugins: database, auth)',
      'plugin.auth.mode: must be one of "secret", "public_key", "jwks"; it is "oauth"',
      "plugin.auth.providers.google.client_id: must be a non-empty string; it is 5",
      "plugin.auth.providers.google.client_secret: is required and must be a non-empty string",
    ]);
  });

  it("CFG-12 include faults in the environment when the file cannot be read, but none for missing keys", () => {
    const error = errorOf(() => loadConfig({ file: "no/such.toml", env: { SVC_PORT: "x" } }));
    expect(error.faults.map(({ key }) => key)).to.deep.equal(["no/such.toml", "SVC_PORT"]);
  });

  it("CFG-13 name the key, the value, the allowed values and the most similar known name", () => {
    expect(faultsOf("[service]\nport = 70000\nreqest_timeout = 5")).to.deep.equal([
      "service.reqest_timeout: is unknown; did you mean request_timeout?",
      "service.port: must be a whole number from 0 to 65535; it is 70000",
    ]);
  });

  it("CFG-13 mask the value of every key, string and reference that may contain a secret", () => {
    const faults = faultsOf(
      `
      [service]
      version = "with space postgres://u:p@host"
      port = "\${PORT_TEXT}"
      etag = { password = "x" }
      trusted_hosts = ["sk_live_4eC39HqLyjWDarjtT1zdp7dc!", "a b"]
      [plugins]
      enabled = ["database"]
      [plugin.database]
      url = 5
      `,
      { PORT_TEXT: "hunter2" },
    );
    expect(faults).to.deep.equal([
      "service.version: must be 1 to 100 visible characters (the value is not shown)",
      "service.port: must be a whole number from 0 to 65535 (the value is not shown)",
      "service.etag: must be true or false; it is a table",
      "service.trusted_hosts: must be a list in which each entry is a host name without a port; " +
        'it is [a string that is not shown, "a b"]',
      "plugin.database.url: must be a non-empty string (the value is not shown)",
    ]);
  });

  it("name the section to which a misplaced key belongs", () => {
    expect(faultsOf("port = 80")).to.deep.equal(["port: is outside its section; move it below [service]"]);
  });

  it("report a value instead of a table, and a table instead of a value", () => {
    expect(faultsOf("service = 5\nlogging = [1]\nplugin = 2\nplugins = 2021-01-01")).to.deep.equal([
      "service: must be a table, written as [service]",
      "logging: must be a table, written as [logging]",
      "plugins: must be a table, written as [plugins]",
      "plugin: must be a table, written as [plugin]",
    ]);
    expect(faultsOf("[service]\nport = 2021-01-01\ndebug = [{}]\nenv = inf")).to.deep.equal([
      'service.env: must be one of "local", "dev", "staging", "prod"; it is Infinity',
      "service.port: must be a whole number from 0 to 65535; it is a date",
      "service.debug: must be true or false; it is a list of length 1",
    ]);
  });

  it("are limited to the first hundred and a count of the rest", () => {
    const text = `[service]\n${Array.from({ length: 5000 }, (_, index) => `k${index} = 1\n`).join("")}`;
    const faults = faultsOf(text);
    expect(faults).to.have.lengthOf(101);
    expect(faults.at(-1)).to.equal("more: 4900 more faults are not listed");
  });

  it("CFG-14 lead to exit code 2", () => {
    expect(configurationExitCode).to.equal(2);
  });

  for (const [text, fault] of [
    ["[service]\nname = 'x", "line 2, column 8: is not valid TOML: a string is not closed"],
    ["[service]\nport = 080", "line 2, column 8: is not valid TOML: a number begins with 0"],
    ["a = 1\na = 2", "line 2, column 1: is not valid TOML: this key or table is already defined"],
    ["a = hello", "line 1, column 5: is not valid TOML: the value is not valid; a string needs quotes"],
    ["a = [1, 2", "line 1, column 10: is not valid TOML: a comma or a closing bracket is missing"],
    ["a = [1, 2,", "line 1, column 5: is not valid TOML: a list is not closed"],
    ["a", "line 1, column 1: is not valid TOML: a key has no value"],
    ['a = "\\q"', "line 1, column 7: is not valid TOML: a backslash begins an unknown escape sequence"],
    [
      "a = 1 b = 2",
      "line 1, column 7: is not valid TOML: more text follows the value; write one key per line",
    ],
    ["a = 9007199254740993", "line 1, column 5: is not valid TOML: the number is too large"],
  ] as const) {
    it(`name the line and column of the error in ${JSON.stringify(text)}`, () => {
      expect(faultsOf(text)[0]).to.contain(fault);
    });
  }
});

describe("the file", () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "svc-config-"));
    writeFileSync(join(folder, "service.toml"), '\uFEFF[service]\nname = "shop"\n');
    writeFileSync(join(folder, "large.toml"), `#${"x".repeat(1024 * 1024)}`);
    writeFileSync(join(folder, "latin1.toml"), Buffer.from([0x23, 0xe9]));
  });
  after(() => rmSync(folder, { recursive: true }));

  it("CFG-1 is found by an absolute path, a path from the working directory or a file URL", () => {
    const file = join(folder, "service.toml");
    for (const each of [file, relative(process.cwd(), file), pathToFileURL(file)]) {
      expect(loadConfig({ file: each, env: {} }).service.name, String(each)).to.equal("shop");
    }
  });

  for (const [name, reason] of [
    ["missing.toml", /: does not exist \(looked for from .+\)$/],
    ["large.toml", /: is larger than 1048576 bytes$/],
    ["latin1.toml", /: is not UTF-8 text$/],
    ["", /: is not a file$/],
  ] as const) {
    it(`is rejected, and the error contains its path: ${name === "" ? "a folder" : name}`, () => {
      const file = join(folder, name);
      const error = errorOf(() => loadConfig({ file, env: {} }));
      expect(error.faults).to.have.lengthOf(1);
      expect(`${error.faults[0]?.key}: ${error.faults[0]?.message}`).to.match(reason).and.contain(file);
      expect(error.message).to.contain(`${file} is configured wrongly`);
    });
  }

  it("is not read, but named in errors, when its content is passed as text", () => {
    const error = errorOf(() => loadConfig({ file: "x.toml", text: "[servce]", env: { SVC_APP_NAME: "a" } }));
    expect(error.message).to.match(/^x\.toml is configured wrongly/);
  });
});
