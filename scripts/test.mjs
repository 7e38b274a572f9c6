// Builds with types, then runs all tests: first in parallel the tests that can share a processor, then at most two at a time the
// tests that measure. Prints its progress. Ends with the slowest files, a table by package, the skipped tests with
// their reasons and the counts on one line. Arguments name test files to run instead of all; `--faults` runs the short fault
// runs, which are not among all.
import { spawn } from "node:child_process";
import { hash } from "node:crypto";
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { mustRunAll, packageOf, summaryOf } from "./test-summary.mjs";

const folder = mkdtempSync(join(tmpdir(), "svc-test-"));
const counts = join(folder, "counts");
const env = {
  ...process.env,
  SVC_TEST_RUN: folder,
  SVC_TEST_COUNTS: counts,
  SVC_TEST_STARTED: String(Date.now()),
};
// Hundreds of processes load the same sources, so cache the compiled code. Coverage counts only code compiled in the run.
if (env.NODE_V8_COVERAGE === undefined) env.NODE_COMPILE_CACHE = join(folder, "compiled");
const started = performance.now();
/** Seconds between two progress lines about a step that prints nothing itself. */
const SILENT_S = 15;

/** Tests that each need a processor for themselves. */
const measured = ["bench/test/{budget,command-line}.test.ts"];
/** Short runs of the experiments that judge deadlines, pauses or memory under load: other tests beside them disturb them. */
const faults = [
  "experiments/test/{collector-faults,database-stall,gateway-stream,job-stop,key-rotation,lease-recovery}.test.ts",
  "experiments/test/{log-pressure,logout-reach,memory-soak,rate-limit-replicas,readiness-herd}.test.ts",
  "experiments/test/{redis-stall,refresh-race,skewed-sign-out,slow-clients,stop-under-load}.test.ts",
  "experiments/test/upstream-faults.test.ts",
];
const tests = [
  "packages/*/test/**/*.test.ts",
  "test/*.test.ts",
  "examples/*/test/**/*.test.ts",
  "{experiments,bench}/test/**/*.test.ts",
];

// Start the longest files first, so that no processor waits at the end while one of them still runs.
const longest = [
  "examples/full-service/test/test-mode.test.ts",
  "packages/conformance/test/mutations.test.ts",
  "packages/job-table/test/herd.test.ts",
  "packages/express/test/tune-answers.test.ts",
  "packages/job-table/test/faults.test.ts",
  "packages/job-table/test/deadlines.test.ts",
  "test/docs-samples.test.ts",
  "packages/express/test/stop.test.ts",
  "packages/conformance/test/sessions.test.ts",
];

const twoAtATime = availableParallelism() > 1 ? ["--parallel", "--jobs", "2"] : [];
const groups = [
  {
    name: "tests",
    files: inOrder(globSync(tests, { exclude: [...measured, ...faults] })),
    // Run five more files than processors, because many tests wait for servers and timeouts.
    args: ["--parallel", "--jobs", String(availableParallelism() + 5)],
    // Limit V8's threads: the processes keep all processors busy, and with four threads each V8 needs 3 to 7 % more CPU
    // time.
    env: { NODE_OPTIONS: `${env.NODE_OPTIONS ?? ""} --v8-pool-size=1` },
  },
  {
    name: "measured",
    files: inOrder(globSync(measured)),
    args: twoAtATime,
  },
  {
    name: "faults",
    files: inOrder(globSync(faults)),
    args: twoAtATime,
  },
];

let failed = false;
try {
  failed = !(await run("build", "tsc", ["-b"]));
  if (!failed && env.NODE_COMPILE_CACHE !== undefined)
    await run("compile", process.execPath, ["--conditions=@svc/source", "scripts/compile-all.mjs"]);
  for (const group of failed ? [] : groups) {
    const files = group.files.filter((file) => isChosen(file, group));
    if (files.length === 0) continue;
    const args = ["--reporter", "scripts/reporter.cjs", ...group.args, ...files];
    const perPackage = Object.fromEntries(
      Object.entries(Object.groupBy(files, packageOf)).map(([name, { length }]) => [name, length]),
    );
    const more = { ...group.env, SVC_TEST_FILES: JSON.stringify(perPackage) };
    if (!(await run(group.name, "mocha", args, more))) failed = true;
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

function isChosen(file, { name }) {
  const [first, ...others] = process.argv.slice(2);
  if (first === undefined || first === "--faults") return (name === "faults") === (first !== undefined);
  return [first, ...others].includes(file);
}

/** Orders files by a hash: the tests of one package all compute or all wait, and this mixes both kinds. */
function inOrder(files) {
  const names = files.map((file) => file.replaceAll("\\", "/"));
  const first = longest.filter((file) => names.includes(file));
  return [...first, ...names.filter((file) => !first.includes(file)).toSorted(byHash)];
}

function byHash(one, other) {
  return hash("sha1", one) < hash("sha1", other) ? -1 : 1;
}

async function run(name, command, args, more) {
  const before = performance.now();
  const secondsSince = (from, digits = 0) => ((performance.now() - from) / 1000).toFixed(digits);
  const child = spawn(command, args, {
    stdio: "inherit",
    env: { ...env, ...more },
    shell: process.platform === "win32",
  });
  // The reporter of the tests prints its own progress.
  const progress = more === undefined && setInterval(tell, SILENT_S * 1000);
  function tell() {
    console.log(`${name}: running for ${secondsSince(before)} s`);
  }
  const status = await new Promise((resolve) => {
    child.on("error", resolve);
    child.on("close", resolve);
  });
  clearInterval(progress);
  console.log(
    `${name}: ${status === 0 ? "ok" : "FAILED"} after ${secondsSince(before, 1)} s (${secondsSince(started)} s in all)`,
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
