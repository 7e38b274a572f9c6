/** Detects reads of the environment in the text of a source file. */

const MODULE = String.raw`["'](?:node:)?process["']`;
const GLOBAL = String.raw`(?:globalThis|global)`;

/** Returns whether a source reads `process.env` or `import.meta.env`, in any form of JavaScript. */
export function readsEnvironment(source: string): boolean {
  if (/\bimport\s*\.\s*meta\s*\.\s*env\b/.test(source)) return true;
  // Count every dynamic import, because its result may be assigned to any variable.
  if (new RegExp(String.raw`\b(?:require|import|getBuiltinModule)\s*\(\s*${MODULE}`).test(source))
    return true;
  // Matches import { env } from "node:process", export { env } from, and export * from.
  if (new RegExp(String.raw`\b(?:import|export)\b[^;]*\benv\b[^;]*\bfrom\s*${MODULE}`).test(source))
    return true;
  if (new RegExp(String.raw`\bexport\s*\*[^;]*\bfrom\s*${MODULE}`).test(source)) return true;
  // Matches const { process: { env } } = globalThis.
  const nested = String.raw`\bprocess\s*:\s*\{[^;]*\benv\b[^;]*\}\s*=\s*${GLOBAL}\b`;
  if (new RegExp(nested).test(source)) return true;
  return namesOfProcess(source).some((name) => readsEnvironmentOf(name, source));
}

function readsEnvironmentOf(name: string, source: string): boolean {
  const it = String.raw`(?<![\w$])${name.replaceAll("$", "\\$")}(?![\w$])`;
  // Matches process.env, process?.env, process["env"], globalThis["process"].env, and (process as Other).env.
  const member = String.raw`(?:["'\x60]\s*\])?(?:\s+as\b[^();=]*)?[\s)]*!?\s*(?:\??\.\s*env\b|(?:\?\.\s*)?\[\s*["'\x60]env["'\x60])`;
  if (new RegExp(it + member).test(source)) return true;
  // Matches const { env } = process, ({ env: { SVC_X } } = globalThis.process), and Reflect.get(process, "env").
  const taken = String.raw`\{[^;]*\benv\b[^;]*\}\s*=\s*(?:${GLOBAL}\s*\??\.\s*)?${it}(?!\s*[.?[(])`;
  if (new RegExp(taken).test(source)) return true;
  return new RegExp(String.raw`\(\s*(?:${GLOBAL}\s*\.\s*)?${it}\s*,\s*["'\x60]env["'\x60]`).test(source);
}

/** Returns `process` and the other names under which a source uses it. */
function namesOfProcess(source: string): readonly string[] {
  const forms = [
    String.raw`\bimport\s+([\w$]+)\s*(?:,[^;]*)?\bfrom\s*${MODULE}`,
    String.raw`\bimport\b[^;]*\*\s*as\s+([\w$]+)\s+from\s*${MODULE}`,
    String.raw`\bimport\b[^;]*\bdefault\s+as\s+([\w$]+)[^;]*\bfrom\s*${MODULE}`,
    String.raw`([\w$]+)\s*=\s*(?:${GLOBAL}\s*\??\.\s*)?process\s*[;,)\n]`,
    String.raw`\bprocess\s*:\s*([\w$]+)[^;]*\}\s*=\s*${GLOBAL}\b`,
  ];
  const found = forms.flatMap((form) =>
    [...source.matchAll(new RegExp(form, "g"))].map(([, name = ""]) => name),
  );
  return ["process", ...found];
}

/**
 * Returns the names in a source that look like environment variables of this project: `SVC_...` and `..._URL`. Every mention
 * counts, because members, destructuring and function arguments can all read a variable.
 */
export function ourVariables(source: string): readonly string[] {
  const names = source.match(/(?<![\w$])(?:SVC_[A-Z0-9_]+|(?!ERR_)[A-Z][A-Z0-9_]*_URL)(?![\w$])/g);
  return [...new Set(names)];
}
