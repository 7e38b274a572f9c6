// Checks that tests notice a broken rule: `npm run mutants [-- --rule ID]... [--sample N] [--seed TEXT] [--jobs N]`.
// Each mutant of test/mutants changes one place in a copy of the sources. The tests that name its rule run there, and one of
// them has to fail. Exits 1 when a mutant survives or a done rule has neither a mutant nor a reason for having none.
//   --rule ID    only this rule; may be repeated
//   --sample N   N mutants, chosen by the seed
//   --seed TEXT  default: the id of the last commit, so that another commit tries other mutants
//   --jobs N     number of mutants that run in parallel; default: one per processor
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { mutants } from "../test/mutants/index.ts";
import { mutantsOf } from "../test/mutants/mutant.ts";
import { copySources } from "./copy-sources.mjs";

const root = resolve(import.meta.dirname, "..");
const { values } = parseArgs({
  options: {
    rule: { type: "string", multiple: true },
    sample: { type: "string" },
    seed: { type: "string" },
    jobs: { type: "string", default: String(availableParallelism()) },
  },
});

const RUN_LIMIT_MS = 180_000;
const jobs = countOf("jobs");
const sample = values.sample === undefined ? undefined : countOf("sample");
const started = performance.now();
const rules = doneRules();
const without = values.rule === undefined ? rules.filter(({ id }) => mutants[id] === undefined) : [];
const unmutable = rules.filter(({ id }) => mutants[id]?.none !== undefined);
const queue = chosen(
  rules.flatMap((rule) =>
    mutantsOf(mutants[rule.id]).map((mutant, index) => ({ rule, mutant, name: nameOf(rule, index) })),
  ),
);

const folder = mkdtempSync(join(tmpdir(), "svc-mutants-"));
const environment = {
  ...process.env,
  SVC_TEST_RUN: folder,
  NODE_COMPILE_CACHE: join(folder, "compiled"),
};
const total = queue.length;
const survivors = [];
let killed = 0;
try {
  await using _servers = await keepServers();
  await Promise.all(Array.from({ length: Math.min(jobs, total) }, (_, index) => work(index)));
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

for (const { id } of without) console.log(`${id} has no mutant and no reason for having none`);
for (const line of survivors) console.log(line);
const seconds = Math.round((performance.now() - started) / 1000);
console.log(
  `mutants: ${killed} of ${total} killed; of ${rules.length} done rules, ${unmutable.length} have a reason for ` +
    `having none, and ${without.length} lack both; ${seconds} s`,
);
if (killed < total || without.length > 0) process.exitCode = 1;

/** Reads a whole number of at least 1. A run with zero mutants would always pass. */
function countOf(name) {
  const count = Number(values[name]);
  if (Number.isInteger(count) && count > 0) return count;
  throw new Error(`--${name} must be a whole number from 1; got ${JSON.stringify(values[name])}`);
}

function doneRules() {
  const output = execFileSync(process.execPath, [join(root, "scripts/rules.mjs"), "--json"], {
    encoding: "utf8",
    maxBuffer: 2 ** 26,
  });
  return JSON.parse(output).rules.filter(({ status }) => status === "done");
}

/** Returns `AUTH-14`, and for the second mutant of that rule `AUTH-14b`. */
function nameOf({ id }, index) {
  return index === 0 ? id : id + String.fromCharCode("a".charCodeAt(0) + index);
}

function chosen(all) {
  if (values.rule !== undefined) {
    const unknown = values.rule.filter((id) => all.every(({ rule }) => rule.id !== id));
    if (unknown.length > 0) throw new Error(`no done rule with a mutant is called ${unknown.join(", ")}`);
    return all.filter(({ rule }) => values.rule.includes(rule.id));
  }
  if (sample === undefined) return [...all];
  const seed =
    values.seed ?? execFileSync("git", ["rev-parse", "HEAD"], { cwd: root, encoding: "utf8" }).trim();
  console.log(`mutants: ${sample} of ${all.length}, seed ${seed}`);
  const rank = ({ name }) => createHash("sha256").update(`${seed} ${name}`).digest("hex");
  return all.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1)).slice(0, sample);
}

/** Keeps the shared servers running, which would otherwise stop after each test run. */
async function keepServers() {
  process.env.SVC_TEST_RUN = folder;
  const { NoServerError, openTestDatabase, openTestRedis } = await import("@svc/dev-services");
  const stack = new AsyncDisposableStack();
  for (const open of [openTestDatabase, openTestRedis]) {
    try {
      stack.use(await open());
    } catch (error) {
      if (!(error instanceof NoServerError)) throw error;
    }
  }
  return stack;
}

async function work(index) {
  const copy = copySources(root, join(folder, `copy-${index}`));
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { rule, mutant, name } = next;
    const before = performance.now();
    const { killedBy, tried } = await tryMutant(copy, rule, mutant);
    const time = `${((performance.now() - before) / 1000).toFixed(1)} s`;
    if (killedBy !== undefined) killed++;
    else survivors.push(`${name} survived (${time}): ${mutant.file}; ${tried}`);
    console.log(`${name.padEnd(10)} ${killedBy === undefined ? "SURVIVED" : "killed  "} ${time.padStart(8)}`);
  }
}

async function tryMutant(copy, rule, mutant) {
  const path = join(copy, mutant.file);
  const source = readFileSync(path, "utf8");
  if (source.split(mutant.find).length !== 2)
    return { tried: `the text to replace occurs ${source.split(mutant.find).length - 1} times` };
  const tried = [];
  writeFileSync(
    path,
    source.replace(mutant.find, () => mutant.replace),
  );
  try {
    for (const file of mutant.test === undefined ? testFiles(rule) : [mutant.test]) {
      const { failed, note } = await runTests(copy, file, rule.id);
      if (failed !== undefined) return { killedBy: failed };
      tried.push(`${file} ${note}`);
    }
  } finally {
    writeFileSync(path, source);
  }
  return { tried: tried.join(", ") };
}

/** Sorts the files of the rule's own package first: files that run a whole service take longer. */
function testFiles({ package: owner, tests }) {
  const order = [`packages/${owner}/`, "packages/conformance/", "packages/", "test/", "examples/"];
  const last = ["packages/conformance/"];
  const rank = (file) => {
    if (owner !== "conformance" && last.some((prefix) => file.startsWith(prefix))) return order.length;
    const at = order.findIndex((prefix) => file.startsWith(prefix));
    return at < 0 ? order.length + 1 : at;
  };
  return Object.keys(tests).toSorted((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

/** Ends a process and the processes that it has started, except for servers, which are detached and end themselves. */
function endGroup({ pid }) {
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}

/**
 * Runs a file's tests that name the rule. A failing hook does not kill a mutant, because it proves nothing about the rule.
 */
async function runTests(copy, file, id) {
  const report = join(folder, `report-${basename(copy)}.json`);
  rmSync(report, { force: true });
  const args = [
    "--bail",
    "--grep",
    `\\b${id}\\b`,
    "--reporter",
    "json",
    "--reporter-option",
    `output=${report}`,
  ];
  const child = spawn("mocha", [...args, "--exit", file], {
    cwd: copy,
    env: environment,
    stdio: "ignore",
    detached: true,
  });
  const timer = setTimeout(() => endGroup(child), RUN_LIMIT_MS);
  const [code, signal] = await new Promise((done) => child.once("exit", (...how) => done(how)));
  clearTimeout(timer);
  // A failed test may leave the process of a sample or of a browser.
  endGroup(child);
  if (signal !== null) return { note: `did not end within ${RUN_LIMIT_MS / 1000} s` };
  let result;
  try {
    result = JSON.parse(readFileSync(report, "utf8"));
  } catch {
    return { note: `could not be loaded (exit code ${code})` };
  }
  const failed = result.failures.find(({ title }) => !/^"(?:before|after)/.test(title));
  if (failed !== undefined) return { failed: failed.fullTitle };
  const hooks = result.failures.map(({ title }) => title).join(", ");
  return {
    note: hooks === "" ? `passed ${result.stats.passes} of ${result.stats.tests}` : `failed in ${hooks}`,
  };
}
