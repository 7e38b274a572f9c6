import { inspect } from "node:util";
import { ConfigurationError, defineOptions, type Fault, type OptionEntries, takeOptions } from "@svc/options";
import { definePlugin } from "./define-plugin.ts";
import { mergeParts, stopQuietly } from "./merge-parts.ts";
import { faultsOfParts, isStop } from "./parts-faults.ts";
import type { AnyPlugin, PartsOf, Plugin, PluginContext } from "./plugin.ts";
import type { PluginParts } from "./slots.ts";

/** All members of a union of objects. */
export type Together<U> = (U extends unknown ? (member: U) => void : never) extends (all: infer All) => void
  ? All
  : never;

/** The plugin that results from joining several plugins. */
export type JoinedPlugin<Name extends string, P extends AnyPlugin> =
  Together<P["options"]["keys"]> extends infer E extends OptionEntries
    ? Plugin<Name, E, Together<P extends AnyPlugin ? PartsOf<P> : never> & object>
    : never;

/**
 * Joins plugins of several packages into one with one name, one table `[plugin.<name>]` and one entry in `/info`. They
 * start in the given order; `part()` also returns parts and offers of earlier plugins. Each plugin receives its own
 * options; two plugins may declare the same option. Errors list the faults of all plugins.
 *
 * @throws TypeError when two plugins define one option, key or variable differently
 */
export function joinPlugins<const Name extends string, const P extends readonly AnyPlugin[]>(
  name: Name,
  ...plugins: P
): JoinedPlugin<Name, P[number]> {
  const keys = joinedKeys(name, plugins);
  const options = defineOptions(`[plugin.${name}]`, keys, (given, nameOf) =>
    plugins.flatMap((each) => each.options.faultsOf(given, nameOf)),
  );

  async function start(context: PluginContext): Promise<PluginParts> {
    const { attempt, signal } = context;
    let parts: PluginParts = {};
    const part = <T>(member: string): T | undefined => {
      const added: Readonly<Record<string, unknown>> = { ...parts.offers, ...parts.parts };
      return Object.hasOwn(added, member) ? (added[member] as T) : context.part(member);
    };

    /**
     * Runs a function of one plugin. If its parts are rejected, returns only their stop hook, so that they are stopped
     * too.
     */
    async function partsFrom(run: () => PluginParts | Promise<PluginParts>): Promise<PluginParts> {
      let kept: PluginParts = {};
      await attempt(async () => {
        const made: unknown = await run();
        const wrong = faultsOfParts(name, made);
        const faults = wrong.length > 0 ? wrong : repeatedMembers(name, parts, made as PluginParts);
        kept = faults.length === 0 ? (made as PluginParts) : stopOnly(made);
        if (faults.length > 0) throw new ConfigurationError("the service", faults);
      });
      return kept;
    }

    function stopEarly(): void {
      const begun = parts;
      parts = {};
      void stopQuietly(begun);
    }

    // When the start hangs until its time limit, stop the started plugins here: the service never receives their parts.
    signal.addEventListener("abort", stopEarly, { once: true });
    try {
      for (const each of plugins) {
        const own = takeOptions(context.options, ...Object.keys(each.options.keys));
        const made = await partsFrom(() => each.start({ ...context, part, options: own as never }));
        const { finish } = made;
        parts = mergeParts(parts, {
          ...made,
          finish: finish && ((handlers, schedules) => partsFrom(() => finish(handlers, schedules))),
        });
      }
      return parts;
    } catch (error) {
      // Stop the started plugins here: the service never receives their stop hooks.
      await stopQuietly(parts);
      throw error;
    }
  }

  // The joined plugins start in the given order, so a need of another one of them is met.
  const isOther = (each: string): boolean => !plugins.some((joined) => joined.name === each);
  const needs = plugins.flatMap((each) => each.needs).filter(isOther);
  const uses = plugins.flatMap((each) => each.uses).filter(isOther);
  return definePlugin({ name, options, needs, uses, start }) as AnyPlugin as JoinedPlugin<Name, P[number]>;
}

/** Returns the options of all plugins. Plugins that share an option must define it identically. */
function joinedKeys(name: string, plugins: readonly AnyPlugin[]): OptionEntries {
  const keys: Record<string, OptionEntries[string]> = {};
  for (const [option, entry] of plugins.flatMap(({ options }) => Object.entries(options.keys))) {
    const known = (keys[option] ??= entry);
    // Compare by content, because two installed copies of a package have equal entries.
    if (known !== entry && inspect(known, { depth: null }) !== inspect(entry, { depth: null }))
      throw new TypeError(`two plugins of [plugin.${name}] define the option ${option} differently`);
  }
  return keys;
}

/** Returns a fault for each member that an earlier plugin has also returned. */
function repeatedMembers(name: string, before: PluginParts, made: PluginParts): readonly Fault[] {
  return (["parts", "offers", "handlers", "schedules"] as const).flatMap((slot) =>
    Object.keys(made[slot] ?? {})
      .filter((member) => Object.hasOwn(before[slot] ?? {}, member))
      .map((member) => ({
        key: `plugin.${name}`,
        message: `has ${member} twice in ${slot}; rename one of them`,
      })),
  );
}

function stopOnly(made: unknown): PluginParts {
  const { stop } = (made ?? {}) as { readonly stop?: unknown };
  return isStop(stop) ? { stop } : {};
}
