import { globSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { basename, dirname, join } from "node:path";
import { codeBlocks } from "@svc/test-support";
import { expect } from "chai";

const root = join(import.meta.dirname, "..");
const packages = globSync("packages/*/package.json", { cwd: root })
  .map((file) => JSON.parse(read(file)) as { name: string; private?: boolean })
  .filter((manifest) => manifest.private !== true)
  .map(({ name }) => name);

describe("the install commands of a package's README", () => {
  it("name every package that its examples import", () => {
    expect(packages).to.have.length.above(20);
    const pages = globSync("packages/*/README*.md", { cwd: root }).filter((file) => !isPrivate(file));
    expect(pages).to.have.length.above(packages.length);
    const missing = pages.flatMap((file) => {
      const markdown = read(file);
      const installed = codeBlocks(markdown, "sh").flatMap(installedBy);
      return importedBy(markdown)
        .filter((each) => !installed.includes(each))
        .map((each) => `${file}: ${each}`);
    });
    expect(missing).to.deep.equal([]);
  });

  it("install the package itself first, or run it", () => {
    for (const name of packages) {
      const [first = ""] = codeBlocks(read(join("packages", name.slice("@svc/".length), "README.md")), "sh");
      expect(first, name).to.match(new RegExp(`^(npm install|npx) ${name}\\b`));
    }
  });
});

describe("the declarations of the packages", () => {
  // @types/node 26 removed JsonWebKey from node:crypto; users may have an older or a newer version.
  it("use no Node type that is missing in some versions of @types/node", () => {
    const declarations = globSync("packages/*/dist/**/*.d.ts", { cwd: root });
    expect(declarations).to.have.length.above(200);
    const faults = declarations.filter((file) =>
      /import[^;]*\bJsonWebKey\b[^;]*from "node:crypto"/.test(read(file)),
    );
    expect(faults).to.deep.equal([]);
  });
});

function isPrivate(page: string): boolean {
  return !packages.includes(`@svc/${basename(dirname(page))}`);
}

function installedBy(commands: string): string[] {
  return commands
    .split("\n")
    .filter((line) => line.startsWith("npm install "))
    .flatMap((line) => line.replace(/#.*/, "").trim().split(/\s+/).slice(2));
}

function importedBy(markdown: string): string[] {
  const code = ["js", "ts"].flatMap((language) => codeBlocks(markdown, language)).join("\n");
  const specifiers = [...code.matchAll(/(?:\bfrom |\bimport |\bimport\(|\brequire\()"([^"]+)"/g)];
  const outside = specifiers.map(([, specifier = ""]) => specifier).filter((each) => !isBuiltin(each));
  return [...new Set(outside.map((each) => each.split("/", each.startsWith("@") ? 2 : 1).join("/")))];
}

function read(file: string): string {
  return readFileSync(join(root, file), "utf8");
}
