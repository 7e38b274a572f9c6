// Lists the tests that prove each rule: `npm run rules [-- --missing] [--json] [--section NAME]`.
// Exits 1 when no test names a rule marked done, when a test names a rule that does not exist, or when the rules of the
// conformance kit differ from docs/contract.md.
//   --write           instead: write the kit's list, packages/conformance/rules.json
//   --missing         print only the faults
//   --json            print {rules, missing, unknown} as JSON
//   --section NAME    only the rules of one section of docs/contract.md, for example request-correlation
//   --contract FILE.. instead: check that test/contract-lines.ts classifies every line of these texts
//   --root DIR        another folder with the layout of this repository
import { createHash } from "node:crypto";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { kitRules, kitRulesFile } from "./kit-rules.mjs";

const ownRoot = resolve(import.meta.dirname, "..");
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    write: { type: "boolean", default: false },
    missing: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    section: { type: "string" },
    contract: { type: "boolean", default: false },
    root: { type: "string", default: ownRoot },
  },
});

const TESTS = ["packages/*/test", "examples/*/test", "bench", "experiments", "test"];
// A title counts only with a body after it, because a skipped test or a test without a body proves nothing.
const TITLE = /\b(?:describe|context|it|specify)(?:\.only)?\s*\(\s*(["'`])((?:\\[^]|(?!\1)[^\\])*)\1\s*[,+]/g;
const COMMENT = /^\s*(?:\/\/|\/?\*).*$/gm;

const fromRoot = (path) => import(pathToFileURL(join(resolve(values.root), path)).href);

if (values.contract) process.exitCode = await checkContract(positionals);
else {
  const { rules } = await fromRoot("test/rules.ts");
  if (values.write) writeFileSync(kitRulesFile, await kitRules(rules));
  else process.exitCode = Math.max(checkTests(rules), await checkKit(rules));
}

async function checkKit(rules) {
  const isCurrent =
    resolve(values.root) !== ownRoot || readFileSync(kitRulesFile, "utf8") === (await kitRules(rules));
  if (!isCurrent)
    console.error("packages/conformance/rules.json is out of date: run npm run rules -- --write");
  return isCurrent ? 0 : 1;
}

function checkTests(rules) {
  const known = new Map(rules.map((rule) => [rule.id, { rule, tests: new Map() }]));
  const prefixes = [...new Set(rules.map(({ id }) => id.slice(0, id.lastIndexOf("-"))))];
  const names = new RegExp(`\\b(?:${prefixes.join("|")})-\\d+\\b`, "g");

  const unknown = [];
  for (const file of testFiles()) {
    const source = readFileSync(join(values.root, file), "utf8").replace(COMMENT, "");
    for (const [, , title] of source.matchAll(TITLE)) {
      for (const id of new Set(title.match(names))) {
        const tests = known.get(id)?.tests;
        if (tests) tests.set(file, (tests.get(file) ?? 0) + 1);
        else unknown.push({ id, file, title });
      }
    }
  }

  const shown = [...known.values()].filter(
    ({ rule }) => values.section === undefined || rule.contract.section === values.section,
  );
  if (values.section !== undefined && shown.length === 0) {
    console.error(`No section "${values.section}" contains rules.`);
    return 1;
  }
  const missing = shown.filter(({ rule, tests }) => rule.status === "done" && tests.size === 0);

  if (values.json) {
    const flat = ({ rule, tests }) => ({ ...rule, tests: Object.fromEntries(tests) });
    console.log(
      JSON.stringify({ rules: shown.map(flat), missing: missing.map(({ rule }) => rule.id), unknown }),
    );
  } else {
    if (!values.missing) for (const entry of shown) console.log(lineOf(entry));
    for (const { rule } of missing) console.log(`no test names ${rule.id} (${rule.package}): ${rule.title}`);
    for (const { id, file, title } of unknown) console.log(`no such rule ${id}, in ${file}: ${title}`);
    const done = shown.filter(({ rule }) => rule.status === "done").length;
    const summary = `${done} done, ${done - missing.length} of them named by tests; ${shown.length - done} planned`;
    console.log(`${shown.length} rules: ${summary}`);
  }
  return missing.length + unknown.length > 0 ? 1 : 0;
}

function testFiles() {
  // A folder `cases` holds the tests that one test file runs on several servers.
  const patterns = TESTS.flatMap((folder) => [
    `${folder}/**/*.test.{ts,mts,cts,js,mjs,cjs}`,
    `${folder}/cases/*.ts`,
  ]);
  const exclude = (path) =>
    /(?:^|[\\/])(?:node_modules|dist)$/.test(typeof path === "string" ? path : path.name);
  return globSync(patterns, { cwd: values.root, exclude })
    .map((file) => file.replaceAll(sep, "/"))
    .sort();
}

function lineOf({ rule, tests }) {
  const count = [...tests.values()].reduce((sum, n) => sum + n, 0);
  const files = [...tests.keys()].map((file) => file.replace(/^packages\//, "")).join(", ");
  return `${rule.id.padEnd(10)}${rule.status.padEnd(8)} ${rule.package.padEnd(22)}${String(count).padStart(3)}  ${files}`.trimEnd();
}

async function checkContract(files) {
  if (files.length === 0) {
    console.error("Name the texts to compare: npm run rules -- --contract FILE...");
    return 1;
  }
  const { contractLines } = await fromRoot("test/contract-lines.ts");
  const seen = new Set();
  let wrong = 0;
  let lines = 0;
  for (const file of files) {
    readFileSync(file, "utf8")
      .split(/\r?\n/)
      .forEach((text, index) => {
        if (text.trim() === "") return;
        lines += 1;
        const hash = createHash("sha256").update(text.trim()).digest("hex").slice(0, 12);
        seen.add(hash);
        if (Object.hasOwn(contractLines, hash)) return;
        wrong += 1;
        console.log(`unclassified: ${file}:${index + 1}: ${text.trim()}`);
      });
  }
  const rest = Object.keys(contractLines).filter((hash) => !seen.has(hash)).length;
  console.log(`${lines} lines, ${wrong} unclassified; ${rest} classified lines are in none of these texts`);
  return wrong > 0 ? 1 : 0;
}
