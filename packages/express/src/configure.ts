import {
  type Config,
  type Environment,
  loadConfig,
  type LoadOptions,
  processEnvironment,
  type SettingsByName,
} from "@svc/config";
import { reducedAuth, reducedMode } from "@svc/jwt-auth/plugin";
import { ConfigurationError, type Definition, type Fault } from "@svc/options";
import type { AnyPlugin } from "@svc/plugin";
import { faultsOfHelmet } from "./own-options.ts";
import { defaultPlugins } from "./plugins/built-in.ts";
import type { Service } from "./service.ts";
import { type ResolvedServiceOptions, resolveServiceOptions } from "./service-options.ts";

/** The settings of a service whose plugin types are unknown. */
export type AnyConfig = Config<SettingsByName, Record<never, object>>;

/**
 * Checks a service's options and reads its configuration from the file and the environment.
 *
 * @throws ConfigurationError that lists all faults in options, file and environment (CFG-12)
 */
export function configure(options: object | undefined, serviceOf: () => Service) {
  const errors: ConfigurationError[] = [];
  const resolved = attempt(() => resolveServiceOptions(options, serviceOf), errors);
  // When an option is invalid, the options that locate the configuration may still be valid: report the configuration's
  // faults too.
  const places = resolved ?? attempt(() => resolveServiceOptions(placeOf(options), serviceOf), []);
  const config = places && attempt(() => loadConfig(sourceOf(places)), errors);
  if (resolved !== undefined && config !== undefined) return { resolved, config };
  const ofHelmet = faultsOfHelmet((options as { readonly helmet?: unknown } | undefined)?.helmet);
  const [first] = errors;
  if (first !== undefined && errors.length === 1 && ofHelmet.length === 0) throw first;
  throw new ConfigurationError("the service", [...errors.flatMap(({ faults }) => faults), ...ofHelmet]);
}

/** Returns a fault for each disabled plugin that has options in code. */
export function unusedCode({ withCode }: ResolvedServiceOptions, { plugins }: AnyConfig): readonly Fault[] {
  return withCode
    .filter((name) => !plugins.includes(name))
    .map((name) => ({
      key: name,
      message: `has no effect without the plugin ${name}; enable the plugin, or remove ${name}`,
    }));
}

function attempt<T>(make: () => T, errors: ConfigurationError[]): T | undefined {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    errors.push(error);
    return undefined;
  }
}

function placeOf(options: object | undefined): object {
  const { config, env, profile, plugins, database, cache } = (options ?? {}) as Readonly<
    Record<string, unknown>
  >;
  // With a database or cache in code, the plugin requires no url. Pass any object, because the given one may be invalid.
  const given = (own: unknown): object | undefined => (own === undefined ? undefined : {});
  return { config, env, profile, plugins, database: given(database), cache: given(cache) };
}

/** Returns the configuration sources; in the reduced profile that is only the environment (PROF-1). */
function sourceOf(resolved: ResolvedServiceOptions): LoadOptions<SettingsByName, Record<never, object>> {
  const { config, env, profile } = resolved;
  const plugins = Object.fromEntries(
    resolved.plugins.map((plugin) => [plugin.name, withCode(plugin, resolved.codeOf)]),
  );
  if (profile === "reduced") return { env, ...reducedPlugins(plugins, env ?? processEnvironment()) };
  const inline = typeof config === "object" && "toml" in config;
  return { ...(inline ? { text: config.toml } : { file: config }), env, plugins, defaultPlugins };
}

/** Returns the definition of a plugin's options, whose check of combinations also sees the options in code. */
function withCode(plugin: AnyPlugin, codeOf: ResolvedServiceOptions["codeOf"]): Definition {
  return {
    ...plugin.options,
    faultsOf(settings, name) {
      // The start of the plugin reports invalid options in code.
      const code = attempt(() => codeOf(plugin), []);
      return code === undefined ? [] : plugin.options.faultsOf({ ...settings, ...code }, name);
    },
  };
}

/** Returns the fixed set of plugins in the reduced profile. Tenancy sources enable tenancy (TEN-11). */
function reducedPlugins(plugins: Readonly<Record<string, Definition>>, env: Environment) {
  const mode = reducedMode(env);
  const sources = env["SVC_TENANCY_SOURCES"] ?? "";
  return {
    plugins: {
      ...plugins,
      auth: { keys: { ...plugins["auth"]?.keys, ...reducedAuth(mode ?? "public_key") } },
    },
    defaultPlugins: [
      "observability",
      "metrics",
      ...(mode === undefined ? [] : ["auth"]),
      ...(sources === "" ? [] : ["tenancy"]),
    ],
  };
}
