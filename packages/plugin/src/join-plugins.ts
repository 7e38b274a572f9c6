import { defineOptions, type OptionEntries, takeOptions } from "@svc/options";
import { mergeParts } from "./merge-parts.ts";
import type { AnyPlugin, PartsOf, Plugin, PluginContext } from "./plugin.ts";
import type { PluginParts } from "./slots.ts";

/** All members of a union of objects. */
export type Together<U> = (U extends unknown ? (member: U) => void : never) extends (all: infer All) => void
  ? All
  : never;

/** The plugin that several plugins make together. */
export type JoinedPlugin<Name extends string, P extends AnyPlugin> =
  Together<P["options"]["keys"]> extends infer E extends OptionEntries
    ? Plugin<Name, E, Together<P extends AnyPlugin ? PartsOf<P> : never> & object>
    : never;

/**
 * Joins plugins of several packages into one with one name, one table `[plugin.<name>]` and one entry in `/info`. They start
 * in the given order; `part()` also returns what those before have added or offer. Each gets the options of its own
 * definition, which may repeat entries of another. The faults of all are listed.
 */
export function joinPlugins<const Name extends string, const P extends readonly AnyPlugin[]>(
  name: Name,
  ...plugins: P
): JoinedPlugin<Name, P[number]> {
  const keys = Object.assign({}, ...plugins.map(({ options }) => options.keys)) as OptionEntries;
  const options = defineOptions(`[plugin.${name}]`, keys, (given, nameOf) =>
    plugins.flatMap((each) => each.options.faultsOf(given, nameOf)),
  );

  async function start(context: PluginContext): Promise<PluginParts> {
    const { attempt } = context;
    let parts: PluginParts = {};
    const part = <T>(member: string): T | undefined => {
      const added: Readonly<Record<string, unknown>> = { ...parts.offers, ...parts.parts };
      return Object.hasOwn(added, member) ? (added[member] as T) : context.part(member);
    };
    try {
      for (const each of plugins) {
        const own = takeOptions(context.options, ...Object.keys(each.options.keys));
        const made = await attempt(() => each.start({ ...context, part, options: own as never }));
        if (made === undefined) continue;
        const { finish } = made;
        parts = mergeParts(parts, {
          ...made,
          finish: finish && (async (handlers) => (await attempt(() => finish(handlers))) ?? {}),
        });
      }
      return parts;
    } catch (error) {
      // The service never gets the stop hooks of the plugins that have started.
      await stopQuietly(parts);
      throw error;
    }
  }

  return {
    name,
    options,
    needs: plugins.flatMap(({ needs }) => needs),
    uses: plugins.flatMap(({ uses }) => uses),
    start,
  } as AnyPlugin as JoinedPlugin<Name, P[number]>;
}

// A hook that ignores its signal is bounded by the time limit of the start.
const STOP_MS = 5000;

async function stopQuietly({ stop }: PluginParts): Promise<void> {
  try {
    await stop?.[1](AbortSignal.timeout(STOP_MS));
  } catch {
    // Report the failed start, which came first.
  }
}
