import type { Logger } from "@svc/context";
import type { Definition, EnvironmentName, OptionEntries, ResolvedOptions } from "@svc/options";
import type { PluginParts } from "./slots.ts";

/** Facts about the service that a plugin receives at its start. */
export interface ServiceFacts {
  readonly name: string;
  readonly version: string;
  readonly env: EnvironmentName;
  /** The reduced profile has no configuration file, so faults name environment variables. */
  readonly profile: "full" | "reduced";
  /** The role of this process: serve the application's requests, run background work, or both. */
  readonly role: "server" | "worker" | "both";
  /** The origins under which it listens on the loopback interface; empty if the port is chosen at startup. */
  readonly origins: readonly string[];
  /** Whether trusted proxies set `X-Forwarded-*`. */
  readonly behindProxies: boolean;
}

/** The context that a plugin receives at its start. */
export interface PluginContext<Options = Readonly<Record<string, unknown>>> {
  /**
   * The plugin's options from its table and from code, with all defaults. A factory that receives them, or a copy of
   * them, reports faults by the option's key in the file.
   */
  readonly options: Options;
  readonly service: ServiceFacts;
  readonly logger: Logger;
  /** Returns a member that another plugin has added to the service, for example `cache`; undefined if no plugin has. */
  readonly part: <T>(member: string) => T | undefined;
  /** Returns an option of `createService()` that several plugins read, for example `db`. */
  readonly code: <T>(option: string) => T | undefined;
  /** Returns whether a plugin is in `[plugins] enabled`, even if its options were refused. */
  readonly isEnabled: (plugin: string) => boolean;
  /** Returns the name of an option as its author wrote it, for example `plugin.cache.url`. */
  readonly nameOf: (option: string) => string;
  /** Returns whether the application has a route for a path; call it only during a request. */
  readonly hasRoute: (path: string) => boolean;
  /** Returns the paths of the routes of the plugins that have started. */
  readonly systemPaths: () => readonly string[];
  /**
   * Runs a factory and collects its `ConfigurationError`, so that all faults are reported together (CFG-12). Resolves
   * with undefined if the factory throws one.
   */
  readonly attempt: <P>(make: () => P | Promise<P>) => Promise<P | undefined>;
  /** Aborts at the time limit of the start. The service runs only the stop hook of parts that are returned later. */
  readonly signal: AbortSignal;
}

/** A part of a service that is switched on by its name in `[plugins] enabled`. */
export interface Plugin<
  Name extends string = string,
  E extends OptionEntries = OptionEntries,
  Parts extends object = object,
> {
  /** The name in `[plugins] enabled`, of the table `[plugin.<name>]`, and of the plugin's options in `createService()`. */
  readonly name: Name;
  /** The plugin's options: with a `key` or variable they are set in the file or the environment, otherwise in code. */
  readonly options: Definition<E>;
  /** Plugins that must be enabled. They start before this one. */
  readonly needs: readonly string[];
  /** Plugins that start before this one if they are enabled. */
  readonly uses: readonly string[];
  /**
   * Starts the plugin. Must not wait for a connection: `/ready` reports a server that does not respond.
   *
   * @throws ConfigurationError for invalid options
   */
  start(context: PluginContext<ResolvedOptions<E>>): PluginParts<Parts> | Promise<PluginParts<Parts>>;
}

/** A plugin with any options and parts. */
export type AnyPlugin = Omit<Plugin, "start"> & {
  start(context: PluginContext<never>): PluginParts | Promise<PluginParts>;
};

/** The members that a plugin adds to a service. */
export type PartsOf<P extends AnyPlugin> =
  Awaited<ReturnType<P["start"]>> extends PluginParts<infer Parts> ? Parts : never;

/** The options of a plugin that are set in code. */
export type CodeEntries<E extends OptionEntries> = {
  [N in keyof E as E[N] extends { readonly key: string } | { readonly env: unknown } ? never : N]: E[N];
};
