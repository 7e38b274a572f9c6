import { listOf, nearestName, string, withDefault } from "@svc/options";
import { isSecretText, keyName } from "./masking.ts";
import { pluginNames, remedyFor } from "./plugin-names.ts";
import { asTable, checkUnusedTable, type Reading, readTable, type Settings } from "./file-or-environment.ts";
import type { FileTable } from "./references.ts";
import type { UntypedTable } from "./table.ts";

type Built = Readonly<Record<string, UntypedTable>>;

/** Reads the enabled plugins in `[plugins]` and their settings in every `[plugin.<name>]` (CFG-6, CFG-7, CFG-8). */
export function readPlugins(root: FileTable, built: Built, defaults: readonly string[], reading: Reading) {
  const enabledNames = withDefault(listOf(string()), defaults);
  const list: UntypedTable = { keys: { enabled: { key: "enabled", kind: enabledNames } } };
  const { settings } = readTable(list, root["plugins"], ["plugins"], reading);
  const listed = new Set(enabledNames.accepts(settings["enabled"]) ? settings["enabled"] : []);
  for (const name of listed) {
    if (!Object.hasOwn(built, name)) refuse(name, built, reading);
  }
  const names = [...listed].filter((name) => Object.hasOwn(built, name));
  return { names, read: readSections(root["plugin"], built, names, reading) };
}

function readSections(node: unknown, built: Built, names: readonly string[], reading: Reading): Settings {
  const source = asTable(node, ["plugin"], reading.faults);
  const all: Record<string, unknown> = {};
  const shown: Record<string, unknown> = {};
  for (const [name, table] of Object.entries(built)) {
    const path = ["plugin", name];
    if (names.includes(name)) {
      const read = readTable(table, source[name], path, reading);
      all[name] = read.settings;
      shown[name] = read.shown;
    } else if (source[name] !== undefined) {
      checkUnusedTable(table, source[name], path, reading);
      reading.notes.push(`[plugin.${name}] is not used: ${name} is not in [plugins] enabled`);
    }
  }
  for (const name of Object.keys(source)) {
    if (Object.hasOwn(built, name)) continue;
    const planned = remedyFor(name);
    if (planned !== undefined) reading.notes.push(`[plugin.${name}] is not read: ${planned.reason}`);
    else reading.faults.add(keyName(["plugin", name]), () => unknown(name, built));
  }
  return { settings: all, shown };
}

function refuse(name: string, built: Built, { faults, fromEnvironment }: Reading): void {
  faults.add("plugins.enabled", () => {
    const planned = remedyFor(name);
    if (planned !== undefined) return `${planned.remedy}; available plugins: ${list(built)}`;
    // A name from the environment may be a secret.
    const hidden = fromEnvironment.has("plugins.enabled") || isSecretText(name);
    return `${hidden ? "a name (not shown)" : JSON.stringify(name)} ${unknown(name, built)}`;
  });
}

function unknown(name: string, built: Built): string {
  const nearest = nearestName(name, [...Object.keys(built), ...pluginNames]);
  const hint = nearest === undefined ? "" : `; did you mean ${nearest}?`;
  return `is not a plugin${hint} (available plugins: ${list(built)})`;
}

function list(built: Built): string {
  return Object.keys(built).join(", ") || "none";
}
