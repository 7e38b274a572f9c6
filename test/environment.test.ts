import { globSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { expect } from "chai";
import { ourVariables, readsEnvironment } from "./environment-reads.ts";

const root = join(import.meta.dirname, "..");

// Commands may read the environment, but libraries must not.
const READERS = ["config", "cli", "conformance", "load-test", "dev-services"];
// The exporter of OpenTelemetry reads variables itself, and this file hides them from it.
const HIDES_VARIABLES = ["packages/telemetry/src/otlp-exporter.ts"];
// A test run sets these variables for its own workers. They are not settings for users.
const HANDED_TO_WORKERS = ["SVC_TEST_RUN", "SVC_TEST_COUNTS", "SVC_TEST_STARTED", "SVC_TEST_FILES"];

describe("the environment", () => {
  it("ENV-6 is read only by the configuration package and by commands", () => {
    const sources = find(["packages/*/src/**/*.ts"]).filter(
      (file) => !READERS.includes(file.split("/")[1] ?? "") && !file.includes("/cli/"),
    );
    expect(sources).to.have.length.above(10);
    expect(sources.filter((file) => readsEnvironment(read(file)))).to.deep.equal(HIDES_VARIABLES);
  });

  it("ENV-6 ENV-7 consists only of variables that the contract names", () => {
    const stated = new Set(read("docs/contract.md").match(/\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/g));
    const sources = find([
      "{scripts,bench,experiments,examples,test/support}/**/*.{ts,mts,cts,js,mjs,cjs,py,sh}",
      "packages/dev-services/{src,test}/**/*.ts",
    ]);
    const libraries = find(["packages/*/src/**/*.ts"]);
    const named = [
      ...sources.flatMap((file) => ourVariables(read(file)).map((name) => ({ file, name }))),
      // Ignore names that end in _URL in libraries: they may be constants instead of environment variables.
      ...libraries.flatMap((file) =>
        ourVariables(read(file)).flatMap((name) => (name.startsWith("SVC_") ? [{ file, name }] : [])),
      ),
    ];
    expect(named.map(({ name }) => name)).to.include.members(["DATABASE_URL", "SVC_TEST_DATABASE_URL"]);
    const unstated = named.filter(({ name }) => !stated.has(name) && !HANDED_TO_WORKERS.includes(name));
    expect(unstated).to.deep.equal([]);
  });
});

describe("the check for reads of the environment", () => {
  const reads = [
    "export const port = process.env.SVC_PORT;",
    'const port = process.env["SVC_PORT"];',
    "const port = process?.env?.SVC_PORT;",
    'const port = process["env"].SVC_PORT;',
    "const port = process?.['env'];",
    "const port = globalThis.process.env.SVC_PORT;",
    'const port = globalThis["process"]["env"];',
    "const port = globalThis.process!.env;",
    "const port = (process).env;",
    "const port = (process as unknown as Variables).env.SVC_PORT;",
    "export const { SVC_X } = process.env;",
    "const { env } = process;",
    "const { pid, env: variables } = globalThis.process;",
    'const {\n  env: { SVC_X = "1" },\n} = process;',
    "const { process: { env } } = globalThis;",
    "const { process: p } = globalThis;\np.env;",
    "function start({ env } = process) {}",
    'import { env } from "node:process";',
    "import { pid, env as variables } from 'process';",
    'import process from "node:process";\nprocess.env;',
    'import its from "node:process";\nuse(its.env);',
    'import its, { pid } from "node:process";\nuse(its["env"]);',
    'import * as its from "node:process";\nconst { env } = its;',
    'import { default as its } from "node:process";\nits.env;',
    'export { env } from "node:process";',
    'export * from "node:process";',
    'const { env } = await import("node:process");',
    'const { env } = require("process");',
    'const { env } = process.getBuiltinModule("node:process");',
    "const $p = process;\n$p.env;",
    'Reflect.get(process, "env");',
    "import.meta.env.SVC_X;",
  ];
  for (const source of reads) {
    it(`detects ${JSON.stringify(source)} (ENV-6)`, () => {
      expect(readsEnvironment(source)).to.equal(true);
    });
  }

  const others = [
    "const { user } = process.cpuUsage();",
    'import { hrtime } from "node:process";',
    "process.exitCode = environment.code;",
    "const { env } = options;",
    "const { env, processes } = settings;",
    "const { env } = process.options();",
    "const value = env.SVC_X;",
    "const subprocess = { env };",
  ];
  for (const source of others) {
    it(`accepts ${JSON.stringify(source)} (ENV-6)`, () => {
      expect(readsEnvironment(source)).to.equal(false);
    });
  }

  for (const [source, names] of [
    ["export const { SVC_X } = process.env;", ["SVC_X"]],
    ['const { SVC_X: x = "1", ["SVC_Y"]: y, ...rest } = env;', ["SVC_X", "SVC_Y"]],
    ["env.SVC_X ?? variables.CHECKOUT_URL", ["SVC_X", "CHECKOUT_URL"]],
    ["\"SVC_X\" in process.env && fromEnvironment('SVC_Y')", ["SVC_X", "SVC_Y"]],
    ["const { env: { SVC_X } } = process;", ["SVC_X"]],
    ["ERR_SVC_X + ERR_INVALID_URL + MY_SVC_X + SVC_X_ish", []],
  ] as const) {
    it(`finds ${names.join(" and ") || "no name"} in ${source} (ENV-7)`, () => {
      expect(ourVariables(source)).to.deep.equal(names);
    });
  }
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
