import { nearestName, variablesOf } from "@svc/options";
import { type Environment, variable } from "./environment.ts";
import type { UntypedTable } from "./table.ts";

// Development tools read these variables; a service never does (ENV-7).
const toolNames = /^SVC_(TEST|BENCH|PERF)_/;

/** Returns a note for every `SVC_` variable that is set but unknown. A note contains the name, never the value. */
export function environmentNotes(env: Environment, known: ReadonlySet<string>): string[] {
  const unread = Object.keys(env).filter(
    (name) => name.startsWith("SVC_") && !known.has(name) && !toolNames.test(name),
  );
  return unread.toSorted().map((name) => {
    const nearest = nearestName(name, known);
    const hint = nearest === undefined ? "" : `; did you mean ${nearest}?`;
    return `the environment variable ${name} is not read by this service${hint}`;
  });
}

/** Returns a note for every variable that is set for a disabled plugin. A note contains the name, never the value. */
export function unusedPluginNotes(
  env: Environment,
  plugins: Readonly<Record<string, UntypedTable>>,
  enabled: readonly string[],
): string[] {
  return Object.entries(plugins).flatMap(([plugin, table]) => {
    if (enabled.includes(plugin)) return [];
    const set = variablesOf(table).filter((name) => variable(env, name) !== undefined);
    return set.map((name) => `${name} is not used: the plugin ${plugin} is not enabled`);
  });
}
