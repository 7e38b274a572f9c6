// Builds with types, then runs all tests: first in parallel those that can share the machine, then one by one those that measure.
// Ends with the skipped tests, their reasons and the counts on one line. Arguments name test files to run instead of all.
import { spawnSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { mustRunAll, summaryOf } from "./test-summary.mjs";

const folder = mkdtempSync(join(tmpdir(), "svc-test-"));
const counts = join(folder, "counts");
const env = { ...process.env, SVC_TEST_RUN: folder, SVC_TEST_COUNTS: counts };
// Hundreds of processes load the same sources, so cache the compiled code. Coverage counts only code compiled in the run.
if (env.NODE_V8_COVERAGE === undefined) env.NODE_COMPILE_CACHE = join(folder, "compiled");
const started = performance.now();

const alone = [
  "bench/test/{budget,command-line}.test.ts",
  "experiments/test/{memory-soak,readiness-herd}.test.ts",
];
const tests = [
  "packages/*/test/**/*.test.ts",
  "test/*.test.ts",
  "examples/*/test/**/*.test.ts",
  "{experiments,bench}/test/**/*.test.ts",
];

// The longest files start first, so that no processor waits at the end while one of them still runs.
const longest = [
  "packages/conformance/test/mutations.test.ts",
  "examples/full-service/test/browser/session.test.ts",
  "test/docs-samples.test.ts",
  "examples/full-service/test/browser/provider.test.ts",
  "packages/conformance/test/sessions.test.ts",
  "examples/full-service/test/browser/looks.test.ts",
  "examples/full-service/test/demo.test.ts",
  "experiments/test/fuzz.test.ts",
  "examples/full-service/test/search.test.ts",
  "experiments/test/database-stall.test.ts",
  "experiments/test/log-pressure.test.ts",
  "experiments/test/key-rotation.test.ts",
  "experiments/test/redis-stall.test.ts",
  "bench/test/queue.test.ts",
  "packages/dev-services/test/postgres.test.ts",
];

const groups = [
  {
    name: "tests",
    files: inOrder(globSync(tests, { exclude: alone })),
    // Three more than processors, because many tests wait for servers and timeouts; with two more, a tenth of the CPU was idle.
    args: ["--parallel", "--jobs", String(availableParallelism() + 3)],
  },
  { name: "measured", files: inOrder(globSync(alone)), args: [] },
];

let failed = false;
try {
  failed = !run("build", "tsc", ["-b"]);
  if (!failed && env.NODE_COMPILE_CACHE !== undefined)
    run("compile", process.execPath, ["--conditions=@svc/source", "scripts/compile-all.mjs"]);
  const chosen = process.argv.slice(2);
  for (const group of failed ? [] : groups) {
    const files = group.files.filter((file) => chosen.length === 0 || chosen.includes(file));
    if (files.length === 0) continue;
    if (!run(group.name, "mocha", ["--reporter", "scripts/reporter.cjs", ...group.args, ...files]))
      failed = true;
  }
  const summary = summaryOf(countsOfAll(), {
    nothingMayBeSkipped: mustRunAll(process.env, process.getuid?.()),
  });
  if (summary.failed) failed = true;
  console.log(summary.text);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = failed ? 1 : 0;

function inOrder(files) {
  const names = files.map((file) => file.replaceAll("\\", "/")).toSorted();
  const first = longest.filter((file) => names.includes(file));
  return [...first, ...names.filter((file) => !first.includes(file))];
}

function run(name, command, args) {
  const before = performance.now();
  const { status } = spawnSync(command, args, { stdio: "inherit", env, shell: process.platform === "win32" });
  const seconds = ((performance.now() - before) / 1000).toFixed(1);
  console.log(
    `${name}: ${status === 0 ? "ok" : "FAILED"} after ${seconds} s (${Math.round((performance.now() - started) / 1000)} s in all)`,
  );
  return status === 0;
}

function countsOfAll() {
  try {
    const lines = readFileSync(counts, "utf8").trim().split("\n");
    return lines.map((line) => JSON.parse(line));
  } catch {
    return []; // the build failed, so no test ran
  }
}
