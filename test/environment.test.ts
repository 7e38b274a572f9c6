import { globSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { expect } from "chai";

const root = join(import.meta.dirname, "..");

// Command lines may look at the environment, libraries may not.
const READERS = ["config", "cli", "conformance", "load-test", "dev-services"];
// A test run tells its own workers where they meet; nobody sets these by hand.
const HANDED_TO_WORKERS = ["SVC_TEST_RUN", "SVC_TEST_COUNTS"];

describe("the environment", () => {
  it("ENV-6 is read by the configuration package and by command lines, by no library", () => {
    const sources = find(["packages/*/src/**/*.ts"]).filter(
      (file) => !READERS.includes(file.split("/")[1] ?? "") && !file.includes("/cli/"),
    );
    expect(sources).to.have.length.above(10);
    expect(sources.filter((file) => /\bprocess\.env\b|\bimport\.meta\.env\b/.test(read(file)))).to.deep.equal(
      [],
    );
  });

  it("ENV-7 is asked by development tools only for names that the contract states", () => {
    const stated = new Set(read("docs/contract.md").match(/\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/g));
    const tools = find([
      "{scripts,bench,experiments,examples,test/support}/**/*.{ts,mts,js,mjs,cjs}",
      "packages/dev-services/{src,test}/**/*.ts",
    ]);
    const asked = tools.flatMap((file) =>
      [...read(file).matchAll(/\benv(?:\.|\[["'`])([A-Z][A-Z0-9_]+)/g)].map(([, name = ""]) => ({
        file,
        name,
      })),
    );
    expect(asked).to.not.deep.equal([]);
    const ours = asked.filter(({ name }) => /^SVC_|_URL$/.test(name) && !HANDED_TO_WORKERS.includes(name));
    expect(ours.filter(({ name }) => !stated.has(name))).to.deep.equal([]);
  });
});

function find(patterns: readonly string[]): readonly string[] {
  const files = globSync(patterns, {
    cwd: root,
    exclude: (path) => /(?:^|[\\/])(?:node_modules|dist)$/.test(path),
  });
  return files.map((file) => file.replaceAll(sep, "/")).sort();
}

function read(file: string): string {
  return readFileSync(join(root, file), "utf8");
}
