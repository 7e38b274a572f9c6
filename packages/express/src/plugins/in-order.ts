import type { Fault } from "@svc/options";
import type { AnyPlugin } from "@svc/plugin";

/**
 * Returns the plugins in an order in which each follows the plugins that it needs or uses; otherwise keeps their order.
 *
 * @param faults receives a fault for plugins that need each other in a cycle
 */
export function inOrder(plugins: readonly AnyPlugin[], faults: Fault[]): readonly AnyPlugin[] {
  const byName = new Map(plugins.map((plugin) => [plugin.name, plugin]));
  const ordered = new Set<AnyPlugin>();

  function place(plugin: AnyPlugin, path: readonly string[]): void {
    if (ordered.has(plugin)) return;
    if (path.includes(plugin.name)) {
      const circle = [...path.slice(path.indexOf(plugin.name)), plugin.name].join(" -> ");
      faults.push({ key: `plugins.${plugin.name}`, message: `depends on itself: ${circle}` });
      return;
    }
    for (const name of [...plugin.needs, ...plugin.uses]) {
      const other = byName.get(name);
      if (other !== undefined) place(other, [...path, plugin.name]);
    }
    ordered.add(plugin);
  }

  for (const plugin of plugins) place(plugin, []);
  return [...ordered];
}
