import { ConfigurationError } from "@svc/options";

// Stored separately from the configuration: the object itself does not show which of its values are secret.
const descriptions = new WeakMap<object, object>();

export function rememberDescription(config: object, description: object): void {
  descriptions.set(config, description);
}

/**
 * Returns the configuration for a log record: settings by name, with `***` for values that are secret, look secret, or
 * were inserted into the file from the environment.
 *
 * @param config the object that `loadConfig` returned, not a copy of it
 * @throws ConfigurationError for any other object, because its secret values are unknown
 */
export function describeConfig(config: object): object {
  const description = descriptions.get(config);
  if (description !== undefined) return description;
  const message = "must be the object that loadConfig() returned, not a copy of it";
  throw new ConfigurationError("describeConfig()", [{ key: "config", message }]);
}
