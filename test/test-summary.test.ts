import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "chai";

const noRedis = "no Redis (not on PATH); install redis-server";
const noPython = "no Python; install python3";
const runs = [
  {
    passes: 4,
    failures: 0,
    pending: 4,
    skipped: [
      `cache [skipped: ${noRedis}] keeps values`,
      `cache [skipped: ${noRedis}] of two [skipped: ${noPython}] forgets values`,
      `store [skipped: ${noRedis}] keeps tokens`,
      "stop on SIGTERM",
    ],
    files: [
      {
        file: "packages/cache/test/a.test.ts",
        package: "packages/cache",
        passes: 3,
        failures: 0,
        pending: 4,
        ms: 1240,
      },
      {
        file: "packages/cache/test/b.test.ts",
        package: "packages/cache",
        passes: 1,
        failures: 0,
        pending: 0,
        ms: 20_300,
      },
    ],
  },
  {
    passes: 1,
    failures: 2,
    pending: 0,
    skipped: [],
    files: [{ file: "test/rules.test.ts", package: "test", passes: 1, failures: 2, pending: 0, ms: 4000 }],
  },
];

interface Script {
  readonly packageOf: (file: string) => string;
  readonly mustRunAll: (env: { readonly CI?: string }, uid: number | undefined) => boolean;
  readonly summaryOf: (
    all: readonly object[],
    options: { readonly nothingMayBeSkipped: boolean },
  ) => { readonly text: string; readonly failed: boolean };
}

describe("scripts/test-summary.mjs", () => {
  let summaryOf: Script["summaryOf"];
  let mustRunAll: Script["mustRunAll"];
  let packageOf: Script["packageOf"];
  before(async () => {
    const script = new URL("../scripts/test-summary.mjs", import.meta.url).href;
    ({ mustRunAll, packageOf, summaryOf } = (await import(script)) as Script);
  });

  it("lists the slowest files, a table by package, each reason for skipped tests, and the counts", () => {
    const { text, failed } = summaryOf(runs, { nothingMayBeSkipped: false });
    expect(text.split("\n")).to.deep.equal([
      "slowest files:",
      "    20.3 s  packages/cache/test/b.test.ts",
      "     4.0 s  test/rules.test.ts",
      "     1.2 s  packages/cache/test/a.test.ts",
      "package          passed   failed  skipped  seconds",
      "packages/cache        4        0        4     21.5",
      "test                  1        2        0      4.0",
      "skipped:",
      `  3 tests: ${noRedis}`,
      "    - cache",
      "    - store",
      `  1 test: ${noPython}`,
      "    - cache",
      "  1 test that cannot run on this platform or for this user:",
      "    - stop on SIGTERM",
      "5 passed, 2 failed, 4 skipped",
    ]);
    expect(failed, "mocha's own exit code reports failures").to.equal(false);
  });

  it("lists at most ten files as the slowest", () => {
    const [run] = runs;
    const files = Array.from({ length: 12 }, (_, n) => ({
      ...run?.files[0],
      file: `${n}.test.ts`,
      ms: n * 1000,
    }));
    const { text } = summaryOf([{ ...run, files }], { nothingMayBeSkipped: false });
    expect(text.match(/\d+\.test\.ts/g)).to.deep.equal(
      [11, 10, 9, 8, 7, 6, 5, 4, 3, 2].map((n) => `${n}.test.ts`),
    );
  });

  it("derives a file's package from its folder", () => {
    const names = ["packages/cache/test/a.test.ts", "examples/full/test/a.test.ts", "test/a.test.ts"].map(
      packageOf,
    );
    expect(names).to.deep.equal(["packages/cache", "examples/full", "test"]);
  });

  it("lists no reasons when no test was skipped", () => {
    const { text } = summaryOf(runs.slice(1), { nothingMayBeSkipped: true });
    expect(text).not.to.contain("skipped:");
    expect(text.split("\n").at(-1)).to.equal("1 passed, 2 failed, 0 skipped");
  });

  it("fails the run when a test that must run was skipped", () => {
    const { text, failed } = summaryOf(runs, { nothingMayBeSkipped: true });
    expect(failed).to.equal(true);
    expect(text).to.contain("\n4 tests were skipped; root must not skip tests when CI=true\n");
  });

  it("allows a normal user to skip tests, but not root with CI=true", () => {
    expect(mustRunAll({ CI: "true" }, 0)).to.equal(true);
    expect(mustRunAll({ CI: "true" }, 1000)).to.equal(false);
    expect(mustRunAll({ CI: "true" }, undefined)).to.equal(false);
    expect(mustRunAll({}, 0)).to.equal(false);
  });

  it("fails the run when no test ran", () => {
    expect(summaryOf([], { nothingMayBeSkipped: false })).to.deep.equal({
      text: "0 passed, 0 failed, 0 skipped",
      failed: true,
    });
  });
});

describe("the progress of npm test", function () {
  this.timeout(60_000);
  const root = fileURLToPath(new URL("..", import.meta.url));
  const sources = {
    "packages/a/test/one.test.mjs": `describe("one", () => { it("passes", () => {}); it.skip("is skipped", () => {}); });`,
    "packages/a/test/two.test.mjs": `describe("two", () => {
      before(() => new Promise((resolve) => setTimeout(resolve, 300)));
      it("fails", () => { throw new Error("no"); });
    });`,
    "test/three.test.mjs": `it("passes", () => {});`,
  };

  /** Runs mocha with the reporter on the sources, and returns its output. */
  function progress(...args: readonly string[]): { readonly stdout: string; readonly stderr: string } {
    const folder = mkdtempSync(join(tmpdir(), "svc-progress-"));
    try {
      for (const [file, source] of Object.entries(sources)) {
        mkdirSync(join(folder, dirname(file)), { recursive: true });
        writeFileSync(join(folder, file), source);
      }
      const { SVC_TEST_COUNTS: _, ...env } = process.env;
      const mocha = join(root, "node_modules/mocha/bin/mocha.js");
      const reporter = join(root, "scripts/reporter.cjs");
      return spawnSync(
        process.execPath,
        [mocha, "--no-config", "--reporter", reporter, ...args, ...Object.keys(sources)],
        {
          cwd: folder,
          encoding: "utf8",
          env: {
            ...env,
            SVC_TEST_STARTED: "0",
            SVC_TEST_FILES: JSON.stringify({ "packages/a": 2, test: 1 }),
          },
        },
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  for (const args of [[], ["--parallel"]]) {
    it(`has a line for each package and each failure (${args[0] ?? "in one process"})`, () => {
      const { stdout } = progress(...args);
      const lines = [...stdout.matchAll(/^ *\d+ s {2}(.*)$/gm)].map(([, text]) => text);
      expect(lines).to.have.members([
        "FAILED packages/a/test/two.test.mjs: two fails",
        "packages/a: 1 passed, 1 FAILED, 1 skipped in 2 files",
        "test: 1 passed in 1 file",
      ]);
      expect(stdout).to.contain("Error: no");
    });
  }

  it("has a line for each interval in which no package completes", () => {
    const { stdout } = progress("--reporter-option", "silentMs=30");
    expect(stdout).to.match(/^ *\d+ s {2}[0-2] of 3 files; waiting for packages\/a(?:, test)?$/m);
  });
});
