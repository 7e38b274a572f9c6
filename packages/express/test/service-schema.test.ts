import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { loggingTable, serviceTable } from "@svc/config";
import { codeBlocks } from "@svc/test-support";
import { Ajv } from "ajv";
import { expect } from "chai";
import { parse } from "smol-toml";
import { builtInPlugins } from "../src/plugins/built-in.ts";

const root = join(import.meta.dirname, "../../..");
const schema = JSON.parse(read("packages/express/service.schema.json")) as Schema;
const validate = new Ajv({ allErrors: true, strictTypes: false }).compile(schema);

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly description?: string;
  readonly default?: unknown;
}

describe("service.schema.json", () => {
  it("accepts the example files and all samples in the docs", () => {
    const files = globSync("examples/**/service.toml", { cwd: root }).map(
      (file) => [file, read(file)] as const,
    );
    expect(files).to.have.length.above(1);
    for (const [file, text] of files) expect(text, file).to.match(/^#:schema .*\/service\.schema\.json\n/);
    const pages = globSync(["packages/{express,config}/README.md", "docs/*.md"], { cwd: root });
    const samples = pages.flatMap((page) =>
      codeBlocks(read(page), "toml").map((text) => [page, text] as const),
    );
    expect(samples).to.have.length.above(8);
    for (const [file, text] of [...files, ...samples])
      expect(faultsOf(text), `${file}\n${text}`).to.deep.equal([]);
  });

  it("accepts a reference to a variable in place of a value of any kind", () => {
    const text =
      '[service]\nport = "${PORT}"\ndebug = "${DEBUG:-false}"\nenv = "${WHERE}"\ntrusted_hosts = "${HOSTS}"';
    expect(faultsOf(text)).to.deep.equal([]);
    expect(faultsOf('[service]\ntrusted_proxies = ["${PROXY}"]\n[logging]\nlevel = "info"')).to.deep.equal(
      [],
    );
  });

  it("rejects unknown keys, and values of the wrong kind or out of range", () => {
    for (const [wrong, at] of [
      ["[service]\nreqest_timeout = 10", "/service"],
      ["[services]", ""],
      ['[service]\nport = "http"', "/service/port"],
      ["[service]\nport = 65536", "/service/port"],
      ['[service]\nenv = "test"', "/service/env"],
      ['[service.cors]\norigins = "*"', "/service/cors/origins"],
      ["[plugin.database]\nmax = 0.5", "/plugin/database/max"],
      ['[plugin.auth.providers.github]\nscope = "user"', "/plugin/auth/providers/github"],
      ['[plugins]\nenabled = ["database"]\n[plugin.database]\nmax = 5', "/plugin/database"],
      ['[plugins]\nenabled = ["database"]', ""],
      ['[plugins]\nenabled = ["auth"]\n[plugin.auth.providers.github]', "/plugin/auth/providers/github"],
    ] as const) {
      expect(faultsOf(wrong), wrong).to.include(at);
    }
  });

  it("accepts an incomplete table of a disabled plugin, and tables of custom plugins", () => {
    expect(faultsOf("[plugin.database]\nmax = 5")).to.deep.equal([]);
    expect(faultsOf('[plugins]\nenabled = ["motd"]\n[plugin.motd]\ntext = "hello"')).to.deep.equal([]);
  });

  it("describes every key, with its default unless it is secret", () => {
    const tables = builtInPlugins.map(
      ({ name, options }) => [schema.properties?.["plugin"]?.properties?.[name], options] as const,
    );
    const own = [
      [schema.properties?.["service"], serviceTable],
      [schema.properties?.["logging"], loggingTable],
    ] as const;
    let keys = 0;
    for (const [table, { keys: entries }] of [...own, ...tables]) {
      for (const entry of Object.values(entries)) {
        if (entry.key === undefined) continue;
        keys += 1;
        const each = table?.properties?.[entry.key];
        expect(each?.description, entry.key).to.match(/\.$/);
        if (!("kind" in entry) || "inFile" in entry || "defaultIn" in entry) continue;
        const fallback: unknown =
          entry.kind.secret === true || !("fallback" in entry.kind) ? undefined : entry.kind.fallback;
        expect(each?.default, entry.key).to.deep.equal(fallback);
      }
    }
    expect(keys).to.be.above(90);
    expect(
      schema.properties?.["plugin"]?.properties?.["cache"]?.properties?.["command_timeout"]?.default,
    ).to.equal(1);
  });

  it("describes a provider's key by its own definition, not by the definition of another key with the same name", () => {
    const auth = schema.properties?.["plugin"]?.properties?.["auth"]?.properties;
    const provider = auth?.["providers"]?.additionalProperties as Schema;
    const textOf = (name: string): string | undefined => provider.properties?.[name]?.description;
    expect(textOf("algorithms")).to.match(/^Accepted algorithms for ID tokens/);
    expect(textOf("issuer")).to.match(/^Expected `iss`;/);
    expect(textOf("authorization_parameters")).to.match(/^Additional parameters/);
    expect(auth?.["algorithms"]?.description).to.match(/^Accepted signature algorithms/);
  });
});

/** Returns the locations of the faults in a file, as JSON pointers. */
function faultsOf(toml: string): readonly string[] {
  return validate(parse(toml)) ? [] : (validate.errors ?? []).map(({ instancePath }) => instancePath);
}

function read(file: string): string {
  return readFileSync(join(root, file), "utf8");
}
