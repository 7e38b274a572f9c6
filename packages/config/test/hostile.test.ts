import { loadConfig } from "@svc/config";
import { ConfigurationError } from "@svc/options";
import { expect } from "chai";
import fc from "fast-check";
import { faultsOf } from "./support/faults-of.ts";
import { authTable, databaseTable } from "./support/tables.ts";

describe("loadConfig() with hostile input", () => {
  for (const key of ["__proto__", "constructor"]) {
    for (const [text, path] of [
      [`[${key}]\npolluted = true`, key],
      [`${key}.polluted = true`, key],
      [`[service]\n"${key}" = { polluted = true }`, `service.${key}`],
      [`[service]\ncors = { ${key} = { polluted = true } }`, `service.cors.${key}`],
      [`[plugin.auth.providers.${key}]\npolluted = true`, `plugin.auth.providers.${key}`],
      [`[plugin.${key}.prototype]\npolluted = true`, `plugin.${key}`],
      [`[[service.${key}]]\npolluted = true`, `service.${key}`],
    ] as const) {
      it(`rejects ${JSON.stringify(text)} and changes no prototype`, () => {
        expect(faultsOf(text)).to.deep.equal([`${path}: is not allowed as the name of a key`]);
        expect({}).not.to.have.property("polluted");
      });
    }
  }

  it("rejects names of inherited members as keys, plugins and sections", () => {
    expect(faultsOf("toString = 1\n[service]\nvalueOf = 1\n[plugin.hasOwnProperty]")).to.have.lengthOf(3);
  });

  it("rejects tables and lists with too many levels", () => {
    expect(faultsOf(`[${"a.".repeat(100_000)}a]`).join()).to.contain("is nested deeper than 16 levels");
    expect(faultsOf(`a = ${"[".repeat(100_000)}`).join()).to.contain("nested too deeply");
    expect(faultsOf(`a = ${"[".repeat(40)}${"]".repeat(40)}`).join()).to.contain(
      "nested deeper than 16 levels",
    );
  });

  it("rejects content of more than a megabyte", () => {
    expect(faultsOf(`#${"x".repeat(1024 * 1024)}`)).to.deep.equal(["text: is larger than 1048576 bytes"]);
  });

  it("limits the length of the error when there is a megabyte of faults", () => {
    const text = Array.from({ length: 60_000 }, (_, index) => `"${index}\\n" = [{}]\n`).join("");
    const faults = faultsOf(text);
    expect(faults).to.have.lengthOf(101);
    expect(faults.join("\n").length).to.be.below(50_000);
  });

  it("escapes characters that would break the line of a message", () => {
    expect(faultsOf('[service]\n"a\\nb" = 1\nenv = "x\\ny"')).to.deep.equal([
      'service."a\\nb": is unknown; expected one of name, version, env, host, port, debug, drain_delay, ' +
        "shutdown_timeout, request_timeout, headers_timeout, receive_timeout, keep_alive_timeout, send_timeout, " +
        "max_connections, max_body_bytes, raw_body_paths, stream_body_paths, etag, tune, readiness_timeout, trusted_proxies, trusted_hosts, security_headers, cors",
      'service.env: must be one of "local", "dev", "staging", "prod"; it is "x\\ny"',
    ]);
  });

  const value = fc.oneof(
    fc.string().map((text) => JSON.stringify(text)),
    fc.constantFrom(
      "1",
      "-1.5",
      "inf",
      "nan",
      "true",
      "[]",
      "{}",
      "[{}]",
      "2021-01-01",
      '"${A}"',
      '"${A:-b}"',
    ),
  );
  const names = [
    "service",
    "plugin",
    "auth",
    "providers",
    "__proto__",
    "constructor",
    "name",
    "port",
    "cors",
    "x",
  ];
  const key = fc
    .array(fc.constantFrom(...names), { minLength: 1, maxLength: 4 })
    .map((path) => path.join("."));
  const line = fc.oneof(
    key.map((path) => `[${path}]`),
    fc.tuple(key, value).map(([path, given]) => `${path} = ${given}`),
    fc.string(),
  );

  it("returns a configuration or throws a ConfigurationError for any string, and changes no prototype", () => {
    const before = Object.getOwnPropertyNames(Object.prototype);
    fc.assert(
      fc.property(fc.array(line, { maxLength: 6 }), (lines) => {
        try {
          const plugins = { database: databaseTable, auth: authTable };
          loadConfig({ text: lines.join("\n"), env: { SVC_APP_NAME: "a" }, plugins });
        } catch (error) {
          expect(error).to.be.instanceOf(ConfigurationError);
        }
        expect(Object.getOwnPropertyNames(Object.prototype)).to.deep.equal(before);
      }),
      { numRuns: 1000 },
    );
  });
});
