// Counts the lines that options take in the product code: node scripts/count-option-lines.mjs [commit]
//
// Rule: all lines of a file of packages/*/src count if the file exists for options, that is
// - it is called "options.ts" or "...-options.ts", and declares an interface or type `...Options` or `...Settings`, an
//   object whose members are kinds of @svc/options, or a definition made by `defineOptions`; or
// - it is called "...-table.ts" and declares a `Table` of TOML keys.
// Files that read options ("resolve-options.ts") or also contain other code do not count. The second count, which renaming
// a file cannot change, is the number of lines of such declarations in all files. packages/options does not count, because
// it implements options and declares none. Without a commit, the files of the work tree are counted.
import { execFileSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";

const dedicated = /[/-]options(?<!resolve-options)\.ts$/;
const table = /^(?:export )?const \w+: Table</m;
const startsType = /^(?:export )?(?:interface|type) \w*(?:Options|Settings)\b/;
const startsTable = /^(?:export )?const \w+(?:: Table<.*| = defineOptions\(.*)$/;
const startsObject = /^(?:export )?const \w+.*\{$/;
const kind =
  /: (?:k\.)?(?:boolean|either|func|integer|listOf|number|objectWith|oneOf|optional|secret|string|withDefault)\(/;

const counted = sources(process.argv[2])
  .filter(({ file }) => !file.startsWith("packages/options/"))
  .map(({ file, text }) => ({
    file,
    lines: text.split("\n").length - 1,
    isTable: file.endsWith("-table.ts") && table.test(text),
    declared: declaredLines(text),
  }));
const files = counted.filter(
  ({ file, isTable, declared }) => isTable || (dedicated.test(file) && declared > 0),
);
for (const { file, lines } of files) console.log(`${String(lines).padStart(5)} ${file}`);
const sum = (list, member) => list.reduce((total, each) => total + each[member], 0);
console.log(`${sum(files, "lines")} lines in ${files.length} files that declare options or tables of keys`);
console.log(
  `${sum(counted, "declared")} lines of such declarations in ${counted.filter(({ declared }) => declared > 0).length} files`,
);

/** Counts the lines of the declarations at the top level: each ends with a line that closes it at the first column. */
function declaredLines(text) {
  const lines = text.split("\n");
  let count = 0;
  for (let start = 0; start < lines.length; start++) {
    if (!startsType.test(lines[start]) && !startsTable.test(lines[start]) && !startsObject.test(lines[start]))
      continue;
    const length = lines.slice(start).findIndex((line) => /^[^\s].*;$|^}/.test(line)) + 1;
    const block = lines.slice(start, start + length);
    if (
      startsObject.test(lines[start]) &&
      !startsTable.test(lines[start]) &&
      !block.some((line) => kind.test(line))
    )
      continue;
    count += block.length;
    start += length - 1;
  }
  return count;
}

function sources(commit) {
  if (commit === undefined)
    return globSync("packages/*/src/**/*.ts")
      .map((file) => ({ file: file.replaceAll("\\", "/"), text: readFileSync(file, "utf8") }))
      .toSorted((one, other) => one.file.localeCompare(other.file));
  const git = (...args) => execFileSync("git", args, { encoding: "utf8", maxBuffer: 2 ** 28 });
  return git("ls-tree", "-r", "--name-only", commit, "packages")
    .split("\n")
    .filter((file) => /^packages\/[^/]+\/src\/.*\.ts$/.test(file))
    .map((file) => ({ file, text: git("show", `${commit}:${file}`) }));
}
