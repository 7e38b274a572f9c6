// Reads the doc comments of options that are made by `defineOptions`. It relies on the indentation that prettier writes.
import { globSync, readFileSync } from "node:fs";
import { join, resolve, sep } from "node:path";

const root = resolve(import.meta.dirname, "..");
const start = /defineOptions\(\s*"([^"]+)",/g;

/** The definitions in the sources of all packages: file, constant, subject, their text, and the doc comment of each option. */
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
    const within = indent + " ".repeat(block.startsWith("defineOptions(\n") ? 4 : 2);
    return { file, name, subject, block, within, aliases: aliasesIn(text), docs: docsIn(block, within) };
  });
});

/**
 * Returns the constants that are shorthands for a definition's entries or for one entry, with the name of the
 * definition.
 */
function aliasesIn(text) {
  const declared = /const (?:(\w+)|\{([^}]*)\}) = (\w+)\.keys;/g;
  return new Map(
    [...text.matchAll(declared)].flatMap(([, whole, members, name]) =>
      (whole ?? members).match(/\w+/g).map((alias) => [alias, name]),
    ),
  );
}

function docsIn(block, within) {
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
 * @param definition an object that `defineOptions` returned; an entry taken from another definition keeps its comment
 */
export function docOf({ subject }, option) {
  const text = commentIn(
    definitions.filter((each) => each.subject === subject),
    option,
  );
  if (text === undefined) throw new Error(`the option ${option} of ${subject} has no doc comment`);
  const withoutIds = text.replaceAll(/ \([A-Z]+-\d+(?:, [A-Z]+-\d+)*\)/g, "");
  const [, meaning, fallback] = /^(.*?)\s*(?:\bDefault:? (.*)\.)?$/.exec(withoutIds);
  return meaning.endsWith("Required.")
    ? { meaning: meaning.slice(0, -"Required.".length).trim(), fallback: "required" }
    : { meaning, fallback };
}

/**
 * Returns the first doc comment of an option in these definitions, or in the definitions from which they take the
 * option.
 */
function commentIn(among, option) {
  for (const each of among) {
    const text = each.docs.get(option) ?? commentIn(originsOf(each, option), option);
    if (text !== undefined) return text;
  }
  return undefined;
}

/** Returns the definitions from which a definition may take an option. A later spread takes precedence. */
function originsOf({ file, block, within, aliases }, option) {
  const [, own] = new RegExp(`^${within}${option}: ((?:.|\\n${within} )*)`, "m").exec(block) ?? [];
  const picked = [...block.matchAll(/pickOptions\(\s*(\w+),([^)]*)\)/g)].filter(([, , names]) =>
    names.includes(`"${option}"`),
  );
  const filed = [...block.matchAll(/fileOptions\((\w+)[,)]/g)];
  const spread = [...block.matchAll(new RegExp(`^${within}\\.\\.\\.(\\w+)(?:\\.keys)?,`, "gm"))].reverse();
  const names = own?.match(/\w+/g) ?? [...picked, ...filed, ...spread].map(([, name]) => name);
  const isNear = (each) => each.file.split("/")[1] === file.split("/")[1];
  return names.flatMap((name) =>
    definitions
      .filter((each) => each.name === (aliases.get(name) ?? name))
      .toSorted((one, other) => isNear(other) - isNear(one)),
  );
}

/** Returns a string with the keys of the file in place of the names in code. */
export function inKeys({ keys }, text) {
  return text.replaceAll(/`(\w+)`/g, (whole, name) => (keys[name]?.key ? `\`${keys[name].key}\`` : whole));
}
