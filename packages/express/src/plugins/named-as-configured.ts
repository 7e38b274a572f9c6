import type { Table } from "@svc/config";
import { ConfigurationError } from "@svc/options";

/** Where the settings of a plugin come from. */
export interface ConfiguredBy<S extends object> {
  readonly plugin: string;
  readonly table: Table<S>;
  readonly profile: "full" | "reduced";
}

/**
 * Runs what takes options made of the settings of a plugin. Its faults name options; who configured the service knows
 * keys and variables, so they are called by those.
 */
export function namedAsConfigured<S extends object, T>(by: ConfiguredBy<S>, make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw renamed(error, by);
  }
}

/** The same for what takes its time. */
export async function asConfigured<S extends object, T>(
  by: ConfiguredBy<S>,
  make: () => Promise<T>,
): Promise<T> {
  try {
    return await make();
  } catch (error) {
    throw renamed(error, by);
  }
}

function renamed<S extends object>(error: unknown, { plugin, table, profile }: ConfiguredBy<S>): unknown {
  if (!(error instanceof ConfigurationError)) return error;
  const names = new Map<string, string>();
  for (const [option, { key, env }] of Object.entries<{
    readonly key: string;
    readonly env?: string | undefined;
  }>(table.keys)) {
    names.set(option, profile === "reduced" && env !== undefined ? env : inFile(plugin, key, env));
  }
  const words = /\b[a-z]+(?:[A-Z][A-Za-z]*)?\b/g;
  const faults = error.faults.map(({ key, message }) => ({
    key: names.get(key) ?? key,
    // Only names that cannot be a plain word: `secret` in a sentence is a secret.
    message: message.replace(words, (word) => (/[A-Z]/.test(word) ? (names.get(word) ?? word) : word)),
  }));
  return new ConfigurationError("the service", faults);
}

function inFile(plugin: string, key: string, env: string | undefined): string {
  return `plugin.${plugin}.${key}${env === undefined ? "" : ` (${env})`}`;
}
