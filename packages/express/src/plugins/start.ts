import type { Logger } from "@svc/context";
import { ConfigurationError, errorText, type Fault, withNames } from "@svc/options";
import { withDeadline } from "@svc/resilience";
import {
  type AnyPlugin,
  type BackgroundPart,
  faultsOfParts,
  isStop,
  mergeParts,
  type PluginContext,
  type PluginParts,
  type ServiceFacts,
  stopPhases,
} from "@svc/plugin";
import type { AnyConfig } from "../configure.ts";
import { serviceMembers } from "../service.ts";
import type { JobCode } from "../service-jobs.ts";
import type { StopHooks } from "../stop-hooks.ts";
import { inOrder } from "./in-order.ts";
import { optionNames } from "./option-names.ts";
import { queueParts } from "./queue-parts.ts";

/** What {@link startPlugins} needs besides the plugins and their settings. */
export interface PluginSurroundings {
  readonly service: ServiceFacts;
  readonly logger: Logger;
  /** Returns the checked options that code sets for a plugin. */
  readonly codeOf: (plugin: AnyPlugin) => Readonly<Record<string, unknown>>;
  /** Options of `createService()` that several plugins read. */
  readonly code: { readonly work: Pick<JobCode, "jobs" | "schedules" | "tasks"> };
  readonly hasRoute: PluginContext["hasRoute"];
  /** Receives each plugin's stop hook as soon as the plugin has started. */
  readonly hooks: StopHooks;
  /** Faults that were found before the plugins start; the error lists them together with the faults of the plugins. */
  readonly faults: readonly Fault[];
  /** Time limit for the start of one plugin, in milliseconds. */
  readonly startTimeoutMs: number;
}

/** A service's plugins after their start. */
export interface StartedPlugins {
  /** Each plugin's parts, in the order in which they handle a request. */
  readonly all: readonly (PluginParts & { readonly name: string })[];
  /** The background parts in stop order: each plugin's parts come before the parts of plugins that it needs. */
  readonly work: readonly BackgroundPart[];
  /** The members that plugins add to the service. */
  readonly parts: Readonly<Record<string, unknown>>;
}

/**
 * Starts the enabled plugins.
 *
 * @throws ConfigurationError that lists the faults of all plugins; the plugins that have started are stopped first
 */
export async function startPlugins(
  plugins: readonly AnyPlugin[],
  { plugins: enabled, plugin: settings }: Pick<AnyConfig, "plugins" | "plugin">,
  { faults: found, service, logger, codeOf, code, hasRoute, hooks, startTimeoutMs }: PluginSurroundings,
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
      // Add a fault even when the error lists none; otherwise the service would start without this plugin.
      if (error.faults.length === 0) faults.push({ key: "plugins", message: error.message });
      faults.push(...error.faults);
      return undefined;
    }
  }

  function contextOf(plugin: AnyPlugin): Omit<PluginContext<never>, "signal"> {
    const names = optionNames(plugin, service.profile);
    const options = withNames({ ...settings[plugin.name], ...codeOf(plugin) }, names);
    return {
      options: options as never,
      service,
      logger,
      part: <T>(member: string) => (Object.hasOwn(parts, member) ? (parts[member] as T) : undefined),
      code: <T>(option: string) => (code as Readonly<Record<string, unknown>>)[option] as T | undefined,
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
    // Skip the plugin without another fault: the fault of the plugin that it needs is already listed.
    if (missing.length > 0 || plugin.needs.some((name) => refused.has(name))) return;
    const before = faults.length;
    const made = await add(plugin, (context) => plugin.start(context));
    if (faults.length > before) refused.add(plugin.name);
    if (made !== undefined) started.set(plugin.name, made);
  }

  /**
   * Runs a function of a plugin, and registers the stop hook and the members in its result. Resolves with undefined if
   * the result is refused.
   */
  function add(plugin: AnyPlugin, run: Run): Promise<PluginParts | undefined> {
    return attempt(async () => {
      const made = await within(startTimeoutMs, plugin.name, contextOf(plugin), run, stopLate);
      addStop(made);
      const misshapen = faultsOfParts(plugin.name, made);
      const wrong = misshapen.length > 0 ? misshapen : takenNames(plugin.name, made);
      if (wrong.length > 0) throw new ConfigurationError("the service", wrong);
      Object.assign(parts, made.parts);
      return made;
    });
  }

  /** Returns a fault for each name that the service itself or another plugin already uses. */
  function takenNames(plugin: string, made: PluginParts): readonly Fault[] {
    const all = [...started.values()];
    const paths = [...systemRoutes, ...all.flatMap(({ routes = [] }) => routes.map(({ path }) => path))];
    const checks = all.flatMap(({ checks: others = [] }) => others.map((each) => each.name));
    // A service with a member `then` would be treated as a promise.
    const members: readonly string[] = [...serviceMembers, "then", ...Object.keys(parts)];
    const taken = [
      ...repeated(Object.keys(made.parts ?? {}), members).map((each) => `adds service.${each}`),
      ...repeated(made.routes?.map(({ path }) => path) ?? [], paths).map((each) => `has the route ${each}`),
      ...repeated(made.checks?.map((each) => each.name) ?? [], checks).map((each) => `has the check ${each}`),
    ];
    return taken.map((what) => ({
      key: `plugin.${plugin}`,
      message: `${what}, which already exists; rename it`,
    }));
  }

  // Call this before all checks, so that a plugin whose parts are refused is stopped too.
  function addStop(made: unknown): void {
    const { stop } = (made ?? {}) as { readonly stop?: unknown };
    if (isStop(stop)) hooks.add(...stop);
  }

  async function stopAll(): Promise<void> {
    for (const phase of stopPhases) await hooks.run(phase);
  }

  function stopLate(made: PluginParts): void {
    addStop(made);
    void stopAll();
  }

  async function finish(): Promise<void> {
    const { handlers, schedules } = queueParts(code.work, started, enabled, faults);
    for (const plugin of plugins) {
      const made = started.get(plugin.name);
      const { finish: run } = made ?? {};
      const more = run && (await add(plugin, () => run(handlers, schedules)));
      if (made !== undefined && more !== undefined) started.set(plugin.name, mergeParts(made, more));
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
    // Started parts would keep the process alive.
    await stopAll();
    throw error;
  }
  // Middleware runs in the order of the plugin list; `started` is in the order of the dependencies.
  const named = plugins.flatMap(({ name }) => {
    const made = started.get(name);
    return made === undefined ? [] : [{ ...made, name }];
  });
  const work = [...started.values()].toReversed().flatMap((each) => each.work ?? []);
  return { all: named, work, parts };
}

/** Paths that the service itself serves. */
const systemRoutes: readonly string[] = ["/health", "/ready", "/info"];

/** Returns the names that are in the other list or occur twice. */
function repeated(names: readonly string[], others: readonly string[]): readonly string[] {
  return names.filter((name, index) => others.includes(name) || names.indexOf(name) !== index);
}

type Run = (context: PluginContext<never>) => PluginParts | Promise<PluginParts>;

/**
 * Runs a plugin's function. A fault names the plugin if the function hangs or throws anything but a ConfigurationError.
 */
async function within(
  timeoutMs: number,
  name: string,
  context: Omit<PluginContext<never>, "signal">,
  run: Run,
  late: (made: PluginParts) => void,
): Promise<PluginParts> {
  const key = `plugin.${name}`;
  let isLate = false;
  async function start(signal: AbortSignal): Promise<PluginParts> {
    const made = await run({ ...context, signal });
    if (isLate) late(made);
    return made;
  }
  try {
    return await withDeadline(timeoutMs, start, { onTimeout: () => (isLate = true) });
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    // Check this flag instead of the error's class: the plugin may itself have thrown a timeout error.
    if (isLate) {
      const message = `did not start within ${timeoutMs} ms: its start() must not wait for a server`;
      throw new ConfigurationError("the service", [{ key, message }]);
    }
    context.logger.error({ err: error, plugin: name }, "a plugin did not start");
    const message = `did not start: ${errorText(error)}`;
    throw new ConfigurationError("the service", [{ key, message }], { cause: error });
  }
}
