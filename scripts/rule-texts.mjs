// Copies the text of every rule that the conformance kit knows from docs/contract.md into the package, because the package is
// published without that document: node scripts/rule-texts.mjs
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { format, resolveConfig } from "prettier";

const root = resolve(import.meta.dirname, "..");
export const target = join(root, "packages/conformance/src/rule-texts.ts");

/** Returns the text of every rule by its id: each paragraph on one line, code blocks and tables unchanged. */
export function textsOf(contract) {
  const texts = new Map();
  let own;
  for (const line of contract.split("\n")) {
    const rule = /^- \*\*([A-Z]+-\d+)\*\*(?: \([a-z, ]+\))? (.*)$/.exec(line);
    if (rule !== null) texts.set(rule[1], (own = [rule[2]]));
    else if (line.startsWith("  ") || line === "") own?.push(line.slice(2));
    else own = undefined;
  }
  return new Map([...texts].map(([id, lines]) => [id, joined(lines)]));
}

function joined(lines) {
  let isCode = false;
  const text = lines.reduce((before, line) => {
    const isFence = line.trimStart().startsWith("```");
    const isBlock = isCode || isFence || line === "" || /^\s*(?:[|]|[-*] |\d+\. )/.test(line);
    if (isFence) isCode = !isCode;
    return isBlock || before.endsWith("\n") || /(?:\n|^)\s*(?:[|]|```)[^\n]*$/.test(before)
      ? `${before}\n${line}`
      : `${before} ${line.trim()}`;
  });
  return text.replaceAll(/\n{3,}/g, "\n\n").trim();
}

/** Returns the source of the package's module with these texts. */
export async function moduleOf(contract, ids) {
  const texts = textsOf(contract);
  const entries = ids.map((id) => {
    const text = texts.get(id);
    if (text === undefined) throw new Error(`docs/contract.md has no text of ${id}`);
    return `${JSON.stringify(id)}: ${JSON.stringify(text)},`;
  });
  const source = `// Written by scripts/rule-texts.mjs from docs/contract.md: change the text there.

/** The text of every rule by its id, as Markdown. */
export const ruleTexts: Readonly<Record<string, string>> = {
${entries.join("\n")}
};
`;
  return format(source, { ...(await resolveConfig(target)), parser: "typescript" });
}

export async function currentModule() {
  const { rules } = await import(pathToFileURL(join(root, "packages/conformance/src/rules.ts")).href);
  return moduleOf(
    readFileSync(join(root, "docs/contract.md"), "utf8"),
    rules.map(({ id }) => id),
  );
}

if (process.argv[1] === import.meta.filename) writeFileSync(target, await currentModule());
