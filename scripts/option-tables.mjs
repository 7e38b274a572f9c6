// Writes tables in READMEs and docs from the definitions of options: npm run option-docs. With --check, only reports the files
// that would change. The markers of a table are
//   <!-- options:NAME --> and <!-- /options -->   the options of NAME, an exported constant of the package
//   <!-- plugin:PACKAGE/NAME --> and <!-- /plugin --> the keys of a plugin's table, from the options NAME of a package
//   <!-- keys --> and <!-- /keys -->              the keys of [service] and [logging]
//   <!-- variables --> and <!-- /variables -->    the environment variables of a service
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { format, resolveConfig } from "prettier";
import { docOf, fileOf, inKeys } from "./option-docs.mjs";

const root = resolve(import.meta.dirname, "..");
const source = (path) => import(pathToFileURL(join(root, path)).href);
const rowsOf = { options: optionRows, plugin: pluginRows, keys: keyRows, variables: variableRows };
const marked = /(<!-- (options|plugin|keys|variables)(?::([\w/-]+))? -->)[^]*?(<!-- \/\2 -->)/g;

for (const file of globSync(["packages/*/README.md", "docs/*.md"], { cwd: root })) {
  const path = join(root, file);
  const text = readFileSync(path, "utf8");
  let written = text;
  for (const [whole, open, what, name, close] of text.matchAll(marked)) {
    const rows = await rowsOf[what](dirname(file), name);
    const table = await format(rows.map(rowOf).join("\n"), {
      ...(await resolveConfig(path)),
      filepath: path,
    });
    written = written.replace(whole, () => `${open}\n\n${table}\n${close}`);
  }
  if (written === text) continue;
  if (!process.argv.includes("--check")) writeFileSync(path, written);
  else {
    console.error(`${file}: run \`npm run option-docs\``);
    process.exitCode = 1;
  }
}

function rowOf(cells) {
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

async function optionRows(folder, name) {
  const file = fileOf(folder, name);
  if (file === undefined) throw new Error(`${folder}: no source exports ${name} = defineOptions(...)`);
  const { [name]: definition } = await source(file);
  const rows = Object.entries(definition.keys).map(([option, entry]) => {
    const { meaning, fallback } = docOf(definition, option);
    return [`\`${option}\``, defaultOf(`${name}.${option}`, entry, fallback), meaningOf(meaning, entry)];
  });
  return [["option", "default", "meaning"], ["---", "---", "---"], ...rows];
}

async function pluginRows(_folder, place) {
  const [folder, name] = place.split("/");
  const file = fileOf(`packages/${folder}`, name);
  if (file === undefined)
    throw new Error(`packages/${folder}: no source exports ${name} = defineOptions(...)`);
  const { [name]: definition } = await source(file);
  const rows = Object.entries(definition.keys).flatMap(([option, entry]) => {
    if (entry.key === undefined) return [];
    const { meaning, fallback } = docOf(definition, option);
    const { kind, inFile } = entry;
    // The comment states the default in the unit of the code.
    const isConverted = inFile !== undefined && typeof kind.fallback === "number";
    const shown = isConverted
      ? `\`${inFile.toFile(kind.fallback)}\``
      : defaultOf(`${name}.${option}`, entry, fallback);
    return [[`\`${entry.key}\``, shown, meaningOf(inKeys(definition, meaning), entry)]];
  });
  return [["key", "default", "meaning"], ["---", "---", "---"], ...rows];
}

async function keyRows() {
  const { loggingTable, serviceTable } = await source("packages/config/src/index.ts");
  const rows = [
    ...rowsOfTable(serviceTable, "service.", ""),
    ...rowsOfTable(loggingTable, "logging.", "logging."),
  ];
  return [["key", "setting", "default", "meaning", "also"], ["---", "---", "---", "---", "---"], ...rows];
}

function rowsOfTable(definition, settings, keys) {
  return Object.entries(definition.keys).flatMap(([option, entry]) => {
    const { key, table, env = "", wins } = entry;
    if (table !== undefined) return rowsOfTable(table, `${settings}${option}.`, `${keys}${key}.`);
    const { meaning, fallback } = docOf(definition, option);
    const [variable] = [env].flat();
    const also = variable === "" ? "" : wins === "env" ? `**\`${variable}\`**` : `\`${variable}\``;
    const shown = defaultOf(`${definition.subject} ${option}`, entry, fallback);
    return [
      [
        `\`${keys}${key}\``,
        `\`${settings}${option}\``,
        shown,
        meaningOf(withoutVariable(meaning), entry),
        also,
      ],
    ];
  });
}

/** Returns the text without the part about the variable, which has its own column. */
function withoutVariable(meaning) {
  return meaning.replace(/; [^;]*`SVC_\w+`[^;.]*/, "");
}

async function variableRows() {
  const { loggingTable, serviceTable } = await source("packages/config/src/index.ts");
  const { builtInPlugins } = await source("packages/express/src/plugins/built-in.ts");
  const plugins = builtInPlugins.flatMap(({ options }) => options ?? []);
  const rows = [serviceTable, loggingTable, ...plugins].flatMap((definition) =>
    Object.entries(definition.keys).flatMap(([option, entry]) => {
      if (entry.env === undefined) return [];
      const names = [entry.env].flat().map((name) => `\`${name}\``);
      const meaning = inKeys(definition, withoutVariable(docOf(definition, option).meaning));
      const row = (key, precedence) => [
        [names.join(", "), `\`${key}\``, meaningOf(meaning, entry), precedence],
      ];
      if (entry.key === undefined) return row(definition.subject, "no key in the file");
      const winner = entry.wins === "env" ? "the variable wins" : "the file wins";
      return row(`${definition.subject} ${entry.key}`, winner);
    }),
  );
  return [["variable", "key", "meaning", "precedence"], ["---", "---", "---", "---"], ...rows];
}

/** Returns the default in the words of the doc comment, and a number, boolean or string as code. */
function defaultOf(option, { kind = {} }, said) {
  if (!("optional" in kind) && said === undefined && "expects" in kind) return "required";
  const { fallback } = kind;
  if (!["string", "number", "boolean"].includes(typeof fallback)) return said ?? "none";
  const bare = said?.replaceAll(/^[`"]+|[`"]+$|(?<=\d),(?=\d{3})/g, "");
  if (said !== undefined && bare !== String(fallback) && Number(bare) !== fallback) {
    const isLiteral = /^(?:true|false|-?\d+(?:\.\d+)?)$/.test(bare);
    if (isLiteral) throw new Error(`${option}: the comment says ${said}, the default is ${fallback}`);
    return said;
  }
  return `\`${typeof fallback === "number" ? grouped(fallback) : JSON.stringify(fallback)}\``;
}

function grouped(number) {
  return Math.abs(number) < 10_000 ? String(number) : number.toLocaleString("en").replaceAll(",", "_");
}

/** Returns the sentences of the doc comment in the form of a cell, with the allowed values that they do not name. */
function meaningOf(meaning, { kind }) {
  const values = (kind?.schema?.enum ?? []).map((value) => `\`${value}\``);
  const named = values.every((value) => meaning.includes(value)) ? "" : `. One of ${values.join(", ")}`;
  return meaning.replace(/\.$/, "").replace(/^[A-Z](?=[a-z]*[ ,])/, (letter) => letter.toLowerCase()) + named;
}
