import type { Logger } from "@svc/context";
import { ConfigurationError, errorText, type Fault, withNames } from "@svc/options";
import type { AnyPlugin, JobHandlers, PluginContext, PluginParts, ServiceFacts } from "@svc/plugin";
import type { AnyConfig } from "../configure.ts";
import { inOrder } from "./order.ts";
import { optionNames } from "./option-names.ts";
import { faultsOfParts } from "./parts-faults.ts";

/** The inputs of the plugins beside their settings. */
export interface PluginSurroundings {
  readonly service: ServiceFacts;
  readonly logger: Logger;
  /** The options of each plugin in code, checked. */
  readonly codeOf: (plugin: AnyPlugin) => Readonly<Record<string, unknown>>;
  /** Options of `createService()` that several plugins read. */
  readonly code: Readonly<Record<string, unknown>>;
  readonly hasRoute: PluginContext["hasRoute"];
  /** Names that a plugin's parts must not take. */
  readonly taken: readonly string[];
  /** Faults that were found before. */
  readonly faults: readonly Fault[];
  /** Milliseconds that a start may take. */
  readonly startTimeoutMs: number;
}

/** The plugins of a service after their start. */
export interface StartedPlugins {
  /** The parts of each plugin, in the order in which a request passes them. */
  readonly all: readonly (PluginParts & { readonly name: string })[];
  /** The members that the plugins add to the service. */
  readonly parts: Readonly<Record<string, unknown>>;
}

/**
 * Starts the enabled plugins.
 *
 * @throws ConfigurationError that lists the faults of all plugins; then those that have started are stopped
 */
export async function startPlugins(
  plugins: readonly AnyPlugin[],
  { plugins: enabled, plugin: settings }: Pick<AnyConfig, "plugins" | "plugin">,
  { faults: found, service, logger, codeOf, code, hasRoute, taken, startTimeoutMs }: PluginSurroundings,
): Promise<StartedPlugins> {
  const faults: Fault[] = [...found];
  const started = new Map<string, PluginParts>();
  const parts: Record<string, unknown> = {};
  const refused = new Set<string>();

  async function attempt<P>(make: () => P | Promise<P>): Promise<P | undefined> {
    try {
      return await make();
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      faults.push(...error.faults);
      return undefined;
    }
  }

  function contextOf(plugin: AnyPlugin): PluginContext<never> {
    const names = optionNames(plugin, service.profile);
    const options = withNames({ ...settings[plugin.name], ...codeOf(plugin) }, names);
    return {
      options: options as never,
      service,
      logger,
      part: <T>(member: string) => (Object.hasOwn(parts, member) ? (parts[member] as T) : undefined),
      code: <T>(option: string) => code[option] as T | undefined,
      isEnabled: (name) => enabled.includes(name),
      nameOf: names.of,
      hasRoute,
      systemPaths: () => [...started.values()].flatMap(({ routes }) => routes?.map(({ path }) => path) ?? []),
      attempt,
    };
  }

  async function startOne(plugin: AnyPlugin): Promise<void> {
    const missing = plugin.needs.filter((name) => !enabled.includes(name));
    for (const name of missing) {
      faults.push({
        key: "plugins.enabled",
        message: `contains ${plugin.name}, which needs ${name}: add ${name}`,
      });
    }
    // The fault of a plugin that is needed is already listed.
    if (missing.length > 0 || plugin.needs.some((name) => refused.has(name))) return;
    const before = faults.length;
    const begun = await attempt(async () => {
      const made = await begin(plugin, contextOf(plugin), startTimeoutMs);
      const wrong = faultsOfParts(plugin.name, made, [...taken, ...Object.keys(parts)]);
      if (wrong.length > 0) throw new ConfigurationError("the service", wrong);
      return made;
    });
    if (faults.length > before) refused.add(plugin.name);
    if (begun === undefined) return;
    started.set(plugin.name, begun);
    Object.assign(parts, begun.parts);
  }

  async function finish(): Promise<void> {
    const handlers = handlersOf(started, enabled, faults);
    for (const [name, made] of started) {
      const more = made.finish && (await attempt(() => made.finish?.(handlers)));
      if (more !== undefined) started.set(name, merged(made, more));
    }
  }

  try {
    for (const plugin of inOrder(
      plugins.filter(({ name }) => enabled.includes(name)),
      faults,
    )) {
      await startOne(plugin);
    }
    await finish();
    if (faults.length > 0) throw new ConfigurationError("the service", faults);
  } catch (error) {
    // Parts that have started would keep the process alive.
    const { signal } = new AbortController();
    for (const { stop } of started.values()) await stop?.[1](signal);
    throw error;
  }
  // A plugin's place among the layers is its place in the list, whatever it needs.
  const named = plugins.flatMap(({ name }) => {
    const made = started.get(name);
    return made === undefined ? [] : [{ ...made, name }];
  });
  return { all: named, parts };
}

/** Starts a plugin; an error of its own becomes a fault that names it. */
async function begin(
  plugin: AnyPlugin,
  context: PluginContext<never>,
  timeoutMs: number,
): Promise<PluginParts> {
  let timer: NodeJS.Timeout | undefined;
  const late = Symbol("late");
  const time = new Promise<typeof late>((resolve) => {
    timer = setTimeout(() => resolve(late), timeoutMs);
  });
  const starting = (async () => plugin.start(context))();
  try {
    const made = await Promise.race([starting, time]);
    if (made !== late) return made;
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    context.logger.error({ err: error, plugin: plugin.name }, "a plugin did not start");
    const message = `did not start: ${errorText(error)}`;
    throw new ConfigurationError("the service", [{ key: `plugin.${plugin.name}`, message }], {
      cause: error,
    });
  } finally {
    clearTimeout(timer);
  }
  // Stop what the plugin may still make.
  starting.then(({ stop }) => stop?.[1](AbortSignal.abort())).catch(() => undefined);
  const message = `did not start within ${timeoutMs} ms: its start() must not wait for a server`;
  throw new ConfigurationError("the service", [{ key: `plugin.${plugin.name}`, message }]);
}

/** Returns the job handlers of all plugins. */
function handlersOf(
  started: ReadonlyMap<string, PluginParts>,
  enabled: readonly string[],
  faults: Fault[],
): JobHandlers {
  const all: Record<string, JobHandlers[string]> = {};
  for (const [name, { handlers = {} }] of started) {
    if (Object.keys(handlers).length > 0 && !enabled.includes("queue")) {
      faults.push({ key: "plugins.enabled", message: `contains ${name}, which has jobs: add queue` });
    }
    for (const [task, handler] of Object.entries(handlers)) {
      if (Object.hasOwn(all, task)) {
        faults.push({ key: `plugin.${name}`, message: `has jobs for ${task}, which another plugin has` });
      }
      all[task] = handler;
    }
  }
  return all;
}

function merged(first: PluginParts, second: PluginParts): PluginParts {
  return {
    ...first,
    ...second,
    checks: [...(first.checks ?? []), ...(second.checks ?? [])],
    schemas: [...(first.schemas ?? []), ...(second.schemas ?? [])],
    work: [...(first.work ?? []), ...(second.work ?? [])],
    finish: undefined,
  };
}
