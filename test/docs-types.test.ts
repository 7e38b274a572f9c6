import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { codeBlocks } from "@svc/test-support";
import { expect } from "chai";

const docs = join(import.meta.dirname, "..", "docs");
const markdown = readFileSync(join(docs, "typescript.md"), "utf8");
const typescript = createRequire(import.meta.url).resolve("typescript/package.json");

/** The compiler settings of the page. */
const settings = JSON.parse(codeBlocks(markdown, "json")[0] ?? "") as { compilerOptions: object };

// Consumers compile against the declarations in dist/, so the packages must be built.
describe("the types in docs/typescript.md", function () {
  this.timeout(60_000);

  it("compile with the page's settings, in ES modules and in CommonJS", () => {
    const modules = codeBlocks(markdown, "ts").map((code, index) => [`sample-${index}.mts`, code] as const);
    const commonjs = codeBlocks(markdown, "cts").map((code, index) => [`sample-${index}.cts`, code] as const);
    expect([modules.length, commonjs.length]).to.deep.equal([5, 1]);
    expect(compile([...modules, ...commonjs], {})).to.equal("");
  });

  it("compile with every strict setting that the page names", () => {
    const modules = codeBlocks(markdown, "ts").map((code, index) => [`sample-${index}.mts`, code] as const);
    const strict = {
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      verbatimModuleSyntax: true,
    };
    expect(compile(modules, strict)).to.equal("");
  });

  it("compile in CommonJS with the setting module node20, but not with node16", () => {
    const [code = ""] = codeBlocks(markdown, "cts");
    expect(compile([["sample.cts", code]], { module: "node20" })).to.equal("");
    expect(compile([["sample.cts", code]], { module: "node16" })).to.include("TS1479");
  });
});

/** Returns the compiler's output. The files are in the folder of the page, where a reader's imports would resolve. */
function compile(files: readonly (readonly [name: string, code: string])[], further: object): string {
  const folder = mkdtempSync(join(docs, ".readme-types-"));
  try {
    for (const [name, code] of files) writeFileSync(join(folder, name), code);
    const compilerOptions = { ...settings.compilerOptions, ...further, noEmit: true };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions }));
    const { stdout, stderr } = spawnSync(
      process.execPath,
      [join(dirname(typescript), "bin", "tsc"), "-p", folder],
      { encoding: "utf8" },
    );
    return stdout + stderr;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
