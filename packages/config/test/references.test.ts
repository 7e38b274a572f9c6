import { loadConfig } from "@svc/config";
import { expect } from "chai";
import fc from "fast-check";
import { faultsOf } from "./support/faults-of.ts";
import { databaseTable } from "./support/tables.ts";

function urlOf(written: string, env: Readonly<Record<string, string>> = {}): string | undefined {
  const text = `[plugins]\nenabled = ["database"]\n[plugin.database]\nurl = '${written}'`;
  const config = loadConfig({
    text,
    env: { SVC_APP_NAME: "shop", ...env },
    plugins: { database: databaseTable },
  });
  return config.plugin.database?.url;
}

describe("references to the environment", () => {
  it("CFG-10 of the form ${NAME} are replaced in any string in the file, even within a longer string", () => {
    expect(urlOf("${DATABASE_URL}", { DATABASE_URL: "postgres://db" })).to.equal("postgres://db");
    expect(urlOf("postgres://${U}:${P}@db/${U}", { U: "shop", P: "p" })).to.equal(
      "postgres://shop:p@db/shop",
    );
  });

  it("CFG-10 of the form ${NAME:-default} give the default if the variable is unset or empty", () => {
    expect(urlOf("${URL:-postgres://localhost:8001}")).to.equal("postgres://localhost:8001");
    expect(urlOf("${URL:-a}", { URL: "" })).to.equal("a");
    expect(urlOf("${URL:-a}", { URL: "b" })).to.equal("b");
  });

  it("CFG-10 are not recognized after $${, which is a literal ${", () => {
    expect(urlOf("$${NAME} costs $5 {x} $")).to.equal("${NAME} costs $5 {x} $");
  });

  it("CFG-10 are replaced in lists and in nested tables", () => {
    const text = '[service]\ntrusted_hosts = ["${A}", "b.example"]\ncors = { origins = ["https://${A}"] }';
    const { service } = loadConfig({ text, env: { SVC_APP_NAME: "shop", A: "a.example" } });
    expect(service.trustedHosts).to.deep.equal(["a.example", "b.example"]);
    expect(service.cors.origins).to.deep.equal(["https://a.example"]);
  });

  it("CFG-10 can supply a number, a boolean or a list", () => {
    const text = '[service]\nport = "${P}"\netag = "${E:-no}"\ntrusted_hosts = "${H}"';
    const { service } = loadConfig({ text, env: { SVC_APP_NAME: "a", P: "81", H: "a.example,b.example" } });
    expect(service).to.deep.include({ port: 81, etag: false, trustedHosts: ["a.example", "b.example"] });
    expect(faultsOf('[service]\nport = "81"')).to.deep.equal([
      'service.port: must be a whole number from 0 to 65535; it is "81"',
    ]);
  });

  it("CFG-10 leave a key unset when they give an empty string", () => {
    const { service } = loadConfig({ text: '[service]\nversion = "${V:-}"', env: { SVC_APP_NAME: "a" } });
    expect(service.version).to.equal("0.1.0");
  });

  it("CFG-11 to an unset variable are rejected, and the error names key and variable", () => {
    const text = '[plugins]\nenabled = ["database"]\n[plugin.database]\nurl = "${DATABASE_URL}"';
    expect(faultsOf(text)).to.deep.equal([
      "plugin.database.url: names the environment variable DATABASE_URL, which is not set",
    ]);
  });

  it("CFG-11 to an unset variable are also rejected in a disabled plugin, and when the name is that of an inherited member", () => {
    expect(faultsOf('[plugin.database]\nurl = "${constructor}${__proto__}"')).to.deep.equal([
      "plugin.database.url: names the environment variable constructor, which is not set",
      "plugin.database.url: names the environment variable __proto__, which is not set",
    ]);
  });

  for (const wrong of ["${", "${}", "${9}", "${A B}", "${A:default}", "${A:-${B}}", "a${A"]) {
    it(`are rejected when malformed: ${wrong}`, () => {
      expect(faultsOf(`[service]\nversion = '${wrong}'`, { A: "1", B: "2" })).to.deep.equal([
        'service.version: contains "${" without NAME} or NAME:-default}; write a literal "${" as "$${"',
      ]);
    });
  }

  it("insert any value unchanged, without replacing references in the value", () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1 }),
        fc.constantFrom("", "${A}", "$${A}", "$&", "$1"),
        (text, tail) => {
          expect(urlOf("<${A}>", { A: text + tail })).to.equal(`<${text}${tail}>`);
        },
      ),
    );
  });
});
