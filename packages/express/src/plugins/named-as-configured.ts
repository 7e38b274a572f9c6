import { ConfigurationError, type Definition } from "@svc/options";

/** The source of the settings of a plugin. */
export interface ConfiguredBy {
  readonly plugin: string;
  readonly table: Pick<Definition, "keys">;
  readonly profile: "full" | "reduced";
  /** The factory name to replace in error messages, for example `createWorker()`. Default: none. */
  readonly maker?: string | undefined;
}

/**
 * Runs a factory with options from the settings of a plugin. In its errors, replaces the names of options by the keys and
 * variables of the configuration.
 */
export function namedAsConfigured<T>(by: ConfiguredBy, make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const names = namesOf(by);
    const faults = error.faults.map(({ key, message }) => ({
      key: names.get(key) ?? key,
      message: inText(message, names, by.maker),
    }));
    throw new ConfigurationError("the service", faults);
  }
}

/** Returns the configured name of each option. */
function namesOf({ plugin, table, profile }: ConfiguredBy): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const [option, entry] of Object.entries<NamedEntry>(table.keys)) {
    const env = typeof entry.env === "string" ? entry.env : entry.env?.[0];
    if (entry.key === undefined) continue;
    const inFile = `plugin.${plugin}.${entry.key}${env === undefined ? "" : ` (${env})`}`;
    names.set(option, profile === "reduced" && env !== undefined ? env : inFile);
  }
  return names;
}

function inText(text: string, names: ReadonlyMap<string, string>, maker: string | undefined): string {
  const named = maker === undefined ? text : text.replaceAll(maker, "the service");
  // Replace only camelCase names, because a name such as `secret` may be a plain word.
  return named.replace(/\b[a-z]+[A-Z][A-Za-z]*\b/g, (word) => names.get(word) ?? word);
}

interface NamedEntry {
  readonly key?: string | undefined;
  readonly env?: string | readonly string[] | undefined;
}
