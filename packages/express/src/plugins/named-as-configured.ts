import type { Logger } from "@svc/context";
import { ConfigurationError, type Definition } from "@svc/options";

/** The source of the settings of a plugin. */
export interface ConfiguredBy {
  readonly plugin: string;
  readonly table: Pick<Definition, "keys">;
  readonly profile: "full" | "reduced";
  /** Options that are set in code. Default: none. */
  readonly code?: readonly string[] | undefined;
  /** The factory name to replace in error messages, for example `oidcLogin()`. Default: none. */
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
    throw renamed(error, by);
  }
}

/** The same for an asynchronous factory. */
export async function asConfigured<T>(by: ConfiguredBy, make: () => Promise<T>): Promise<T> {
  try {
    return await make();
  } catch (error) {
    throw renamed(error, by);
  }
}

/** Returns a logger that replaces the names of options in messages in the same way. */
export function loggerAsConfigured(by: ConfiguredBy, logger: Logger): Logger {
  const { inText } = namesOf(by);
  const renaming =
    (level: keyof Logger): Logger[typeof level] =>
    (fields, message) =>
      logger[level](fields, message === undefined ? undefined : inText(message));
  return {
    debug: renaming("debug"),
    info: renaming("info"),
    warn: renaming("warn"),
    error: renaming("error"),
    fatal: renaming("fatal"),
  };
}

function renamed(error: unknown, by: ConfiguredBy): unknown {
  if (!(error instanceof ConfigurationError)) return error;
  const { ofKey, inText } = namesOf(by);
  const faults = error.faults.map(({ key, message }) => ({ key: ofKey(key), message: inText(message) }));
  return new ConfigurationError("the service", faults);
}

/** Returns functions that replace the names of options by configured names: in the key of a fault, and in a text. */
function namesOf({ plugin, table, profile, code = [], maker }: ConfiguredBy): {
  readonly ofKey: (key: string) => string;
  readonly inText: (text: string) => string;
} {
  const names = new Map(code.map((option) => [option, `${plugin}.${option}`]));
  const inside: ((key: string) => string | undefined)[] = [];
  const nested = new Map<string, string>();
  for (const [option, entry] of Object.entries<NamedEntry>(table.keys)) {
    const { key, each } = entry;
    const env = typeof entry.env === "string" ? entry.env : entry.env?.[0];
    if (key === undefined) continue;
    const name = profile === "reduced" && env !== undefined ? env : inFile(plugin, key, env);
    names.set(option, name);
    if (each === undefined) continue;
    inside.push((fault) => nameInside(fault, option, name, each));
    for (const [inner, { key: shown }] of Object.entries<NamedEntry>({ ...each.keys }))
      if (shown !== undefined) nested.set(inner, shown);
  }
  const words = /\b[a-z]+(?:[A-Z][A-Za-z]*)?\b/g;
  // Replace only camelCase names, because a name such as `secret` may be a plain word.
  const worded = (word: string): string =>
    /[A-Z]/.test(word) ? (names.get(word) ?? nested.get(word) ?? word) : word;
  return {
    ofKey: (key) =>
      names.get(key) ?? inside.map((nameOf) => nameOf(key)).find((name) => name !== undefined) ?? key,
    inText: (text) =>
      (maker === undefined ? text : text.replaceAll(maker, "the service")).replace(words, worded),
  };
}

interface NamedEntry {
  readonly key?: string | undefined;
  readonly env?: string | readonly string[] | undefined;
  readonly each?: { readonly keys: object } | undefined;
}

/** Renames `providers.google.clientId` to `plugin.auth.providers.google.client_id`; the middle part may contain dots. */
function nameInside(
  fault: string,
  option: string,
  name: string,
  { keys }: { keys: object },
): string | undefined {
  if (!fault.startsWith(`${option}.`)) return undefined;
  const rest = fault.slice(option.length + 1);
  const dot = rest.lastIndexOf(".");
  const entry = Object.entries<{ readonly key: string }>({ ...keys }).find(
    ([inner]) => inner === rest.slice(dot + 1),
  )?.[1];
  const chosen = dot > 0 && entry !== undefined ? rest.slice(0, dot) : rest;
  const shown = /^[\w-]+$/.test(chosen) ? chosen : JSON.stringify(chosen);
  return chosen === rest ? `${name}.${shown}` : `${name}.${shown}.${entry?.key}`;
}

function inFile(plugin: string, key: string, env: string | undefined): string {
  return `plugin.${plugin}.${key}${env === undefined ? "" : ` (${env})`}`;
}
