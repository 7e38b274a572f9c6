import { loadConfig } from "@svc/config";
import { ConfigurationError } from "@svc/options";
import { authTable, databaseTable } from "./tables.ts";

/** Returns the error with which `load` rejects a configuration; throws if `load` accepts it. */
export function errorOf(load: () => unknown): ConfigurationError {
  try {
    load();
  } catch (error) {
    if (error instanceof ConfigurationError) return error;
    throw error;
  }
  throw new Error("the configuration was taken");
}

/**
 * Returns the faults of a file's text and an environment, for a service with the two plugins, each as `key: message`.
 */
export function faultsOf(text: string, env: Readonly<Record<string, string>> = {}): string[] {
  const plugins = { database: databaseTable, auth: authTable };
  const { faults } = errorOf(() => loadConfig({ text, env: { SVC_APP_NAME: "shop", ...env }, plugins }));
  return faults.map(({ key, message }) => `${key}: ${message}`);
}
