// Reads the doc comments of options that are made by `defineOptions`. It relies on the indentation that prettier writes.
import { globSync, readFileSync } from "node:fs";
import { join, resolve, sep } from "node:path";

const root = resolve(import.meta.dirname, "..");
const start = /defineOptions\(\s*"([^"]+)",/g;

/** The definitions in the sources of all packages: file, constant, subject, the doc comment of each option, and the text. */
const definitions = globSync("packages/*/src/**/*.ts", { cwd: root }).flatMap((path) => {
  const file = path.replaceAll(sep, "/");
  const text = readFileSync(join(root, file), "utf8");
  return [...text.matchAll(start)].map(({ 0: { length }, 1: subject, index }) => {
    const line = text.slice(text.lastIndexOf("\n", index) + 1, index);
    const indent = /^ */.exec(line)[0];
    const end = new RegExp(`\\n${indent}\\S`, "g");
    end.lastIndex = index + length;
    const block = text.slice(index, end.exec(text)?.index);
    const name = /(?:^|\s)const (\w+) = $/.exec(line)?.[1];
    return { file, name, subject, text, docs: docsIn(block, indent) };
  });
});

function docsIn(block, indent) {
  const isBroken = block.startsWith("defineOptions(\n");
  const within = indent + " ".repeat(isBroken ? 4 : 2);
  const entry = new RegExp(
    `^${within}/\\*\\*((?:(?!\\*/)[^])*)\\*/\\n(?:${within}// .*\\n)*${within}(\\w+): `,
    "gm",
  );
  const plain = (comment) =>
    comment
      .replaceAll(/\s*\n\s*\*?\s*/g, " ")
      .replaceAll(/\{@link (\w+)\}/g, "`$1`")
      .trim();
  return new Map([...block.matchAll(entry)].map(([, comment, option]) => [option, plain(comment)]));
}

/** Returns the source file that exports a definition as a constant; undefined without one. */
export function fileOf(folder, name) {
  return definitions.find((each) => each.name === name && each.file.startsWith(`${folder}/src/`))?.file;
}

/**
 * Returns the sentences about an option: `meaning` without the ids of rules, and `fallback`, the text after "Default: " or
 * "required".
 *
 * @param definition an object that `defineOptions` returned; entries that it takes over from others keep their comments
 */
export function docOf({ subject }, option) {
  const reached = new Set();
  for (const own of definitions.filter((each) => each.subject === subject)) reach(own, reached);
  const text = [...reached].map(({ docs }) => docs.get(option)).find((each) => each !== undefined);
  if (text === undefined) throw new Error(`the option ${option} of ${subject} has no doc comment`);
  const withoutIds = text.replaceAll(/ \([A-Z]+-\d+(?:, [A-Z]+-\d+)*\)/g, "");
  const [, meaning, fallback] = /^(.*?)\s*(?:\bDefault:? (.*)\.)?$/.exec(withoutIds);
  return meaning.endsWith("Required.")
    ? { meaning: meaning.slice(0, -"Required.".length).trim(), fallback: "required" }
    : { meaning, fallback };
}

/** Adds a definition and those from which it takes entries over, in the order in which its file names them. */
function reach(definition, reached) {
  if (reached.has(definition)) return;
  reached.add(definition);
  const { text, file } = definition;
  const placeOf = ({ name }) => (name === undefined ? -1 : text.search(new RegExp(`\\b${name}\\b`)));
  const isNear = (each) => each.file.split("/")[1] === file.split("/")[1];
  const named = definitions.filter((each) => placeOf(each) >= 0);
  const sorted = named.toSorted((one, other) => placeOf(one) - placeOf(other) || isNear(other) - isNear(one));
  for (const each of sorted) reach(each, reached);
}

/** Returns a text with the keys of the file in place of the names in code. */
export function inKeys({ keys }, text) {
  return text.replaceAll(/`(\w+)`/g, (whole, name) => (keys[name]?.key ? `\`${keys[name].key}\`` : whole));
}
