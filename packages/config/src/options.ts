import type { Environment } from "./environment.ts";
import type { LoggingSettings, ServiceSettings } from "./service-table.ts";
import type { SettingsByName, Tables } from "./table.ts";

/** Options of `loadConfig`. */
export interface LoadOptions<P extends SettingsByName, A extends SettingsByName> {
  /**
   * Path of the TOML file, relative to the working directory, or its file URL. Default: none; only the environment is
   * read.
   */
  readonly file?: string | URL | undefined;
  /** The file's content, if the caller has already read it; `file` is then used only in errors. Default: read from `file`. */
  readonly text?: string | undefined;
  /** Environment variables. Default: `process.env`. */
  readonly env?: Environment | undefined;
  /** The table for the section of each available plugin; other plugins are refused (CFG-8). Default: none. */
  readonly plugins?: Tables<P> | undefined;
  /** Plugins that start if the file has no `[plugins] enabled`. Default: none. */
  readonly defaultPlugins?: readonly (keyof P & string)[] | undefined;
  /** Tables for the sections that the application adds to the file, by name. Default: none. */
  readonly sections?: Tables<A> | undefined;
}

/** The checked configuration, frozen, with all defaults applied. */
export interface Config<P extends SettingsByName, A extends SettingsByName> {
  readonly service: ServiceSettings;
  readonly logging: LoggingSettings;
  /** Names of the enabled plugins, in file order. */
  readonly plugins: readonly (keyof P & string)[];
  /** Settings of the enabled plugins; undefined for disabled ones. */
  readonly plugin: { readonly [N in keyof P]?: P[N] };
  /** Settings of the application's own sections. */
  readonly sections: { readonly [N in keyof A]: A[N] };
  /** Notes about unusual but valid settings, for a warning at startup. They never contain a value. */
  readonly notes: readonly string[];
}
