import type { Names, OptionEntries } from "@svc/options";
import type { AnyPlugin } from "@svc/plugin";
import { nameInCode } from "./code-options.ts";

/**
 * Returns the names of a plugin's options as the user writes them: `plugin.cache.key_prefix` in a file, a variable in
 * the reduced profile, which does not read a file, and `auth.revocation` in code.
 */
export function optionNames({ name, options }: AnyPlugin, profile: "full" | "reduced"): Names {
  return {
    subject: "the service",
    of: (option) => nameIn(options.keys, option, `plugin.${name}`, profile) ?? nameInCode(name, option),
  };
}

/** Returns the value of the setting with a key such as `plugin.queue.name`; undefined if no plugin has such a key. */
export function settingOf(
  plugins: readonly AnyPlugin[],
  settings: Readonly<Record<string, unknown>>,
  key: string,
): unknown {
  const [, name = "", inTable] = key.split(".");
  const keys = plugins.find((each) => each.name === name)?.options.keys ?? {};
  const [option = ""] = Object.entries(keys).find(([, entry]) => entry.key === inTable) ?? [];
  return (settings[name] as Readonly<Record<string, unknown>> | undefined)?.[option];
}

/** Returns the name of an option. The option may be nested, for example `providers.google.clientId`. */
function nameIn(
  keys: OptionEntries,
  option: string,
  path: string,
  profile: "full" | "reduced",
): string | undefined {
  const [first = "", ...rest] = option.split(".");
  const entry = Object.hasOwn(keys, first) ? keys[first] : undefined;
  if (entry === undefined) return undefined;
  if ("kind" in entry) {
    const [variable] = [entry.env ?? []].flat();
    if (entry.key === undefined || (profile === "reduced" && variable !== undefined)) return variable;
    return `${path}.${entry.key}${variable === undefined ? "" : ` (${variable})`}`;
  }
  if ("table" in entry) return nameIn(entry.table.keys, rest.join("."), `${path}.${entry.key}`, profile);
  const table = `${path}.${entry.key}`;
  if (rest.length === 0) return table;
  // The name of a table may contain dots.
  const [inner = "", ...chosen] = rest.toReversed();
  const inside = `${table}.${shown(chosen.toReversed().join("."))}`;
  const name = chosen.length === 0 ? undefined : nameIn(entry.each.keys, inner, inside, profile);
  return name ?? `${table}.${shown(rest.join("."))}`;
}

function shown(name: string): string {
  return /^[\w-]+$/.test(name) ? name : JSON.stringify(name);
}
