import type { Environment } from "./environment.ts";
import type { LoggingSettings, ServiceSettings } from "./service-table.ts";
import type { SettingsByName, Tables } from "./table.ts";

/** What `loadConfig` reads, and by which tables. */
export interface LoadOptions<P extends SettingsByName, A extends SettingsByName> {
  /** Path of the TOML file, from the working directory, or its file URL. Default: none, the environment alone. */
  readonly file?: string | URL | undefined;
  /** The file's content, when somebody has read it already; `file` then only names it. Default: read from `file`. */
  readonly text?: string | undefined;
  /** Environment variables. Default: `process.env`. */
  readonly env?: Environment | undefined;
  /** For every plugin that is built the table of its section; any other is refused (CFG-8). Default: none. */
  readonly plugins?: Tables<P> | undefined;
  /** Plugins that start when the file has no `[plugins] enabled`. Default: none. */
  readonly defaultPlugins?: readonly (keyof P & string)[] | undefined;
  /** Tables of sections that the application adds to the file, by name. Default: none. */
  readonly sections?: Tables<A> | undefined;
}

/** What was read: checked, complete with defaults, frozen. */
export interface Config<P extends SettingsByName, A extends SettingsByName> {
  readonly service: ServiceSettings;
  readonly logging: LoggingSettings;
  /** Names of the enabled plugins, in the order of the file. */
  readonly plugins: readonly (keyof P & string)[];
  /** Settings of the enabled plugins; undefined for the others. */
  readonly plugin: { readonly [N in keyof P]?: P[N] };
  /** Settings of the application's own sections. */
  readonly sections: { readonly [N in keyof A]: A[N] };
  /** What is odd without being wrong, for a warning at startup; never holds a value. */
  readonly notes: readonly string[];
}
