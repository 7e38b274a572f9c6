import { type Definition, defineOptions, type OptionEntries } from "@svc/options";
import type { Plugin } from "./plugin.ts";

/** A plugin as its author writes it. */
export type PluginDraft<Name extends string, E extends OptionEntries, Parts extends object> = Pick<
  Plugin<Name, E, Parts>,
  "name" | "start"
> & {
  /** Default: no options. */
  readonly options?: Definition<E> | undefined;
  /** Default: none. */
  readonly needs?: readonly string[] | undefined;
  /** Default: none. */
  readonly uses?: readonly string[] | undefined;
};

const names = /^[a-z][a-z0-9_]{0,63}$/;

/**
 * Defines a plugin for `createService()` of `@svc/express`.
 *
 * @throws TypeError for a name other than 1 to 64 lower-case letters, digits and `_` that begin with a letter, for a plugin
 *   without `start()`, and for a plugin that needs or uses itself
 */
export function definePlugin<
  const Name extends string,
  E extends OptionEntries = Record<never, never>,
  Parts extends object = Record<never, never>,
>(draft: PluginDraft<Name, E, Parts>): Plugin<Name, E, Parts> {
  const { name, options, needs = [], uses = [] } = draft;
  if (typeof name !== "string" || !names.test(name)) {
    throw new TypeError(`a plugin needs a name of lower-case letters, digits and _; it is ${String(name)}`);
  }
  if (typeof draft.start !== "function")
    throw new TypeError(`the plugin ${name} must have a function start()`);
  if ([...needs, ...uses].includes(name)) throw new TypeError(`the plugin ${name} needs itself`);
  return {
    name,
    options: options ?? (defineOptions(`[plugin.${name}]`, {}) as Definition<OptionEntries> as Definition<E>),
    needs,
    uses,
    start: (context) => draft.start(context),
  };
}
