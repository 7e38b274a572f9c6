import { ConfigurationError } from "@svc/options";

// Beside the configuration rather than in it: which values are secret is known only while they are read.
const descriptions = new WeakMap<object, object>();

export function rememberDescription(config: object, description: object): void {
  descriptions.set(config, description);
}

/**
 * The configuration for a log line: settings by name, with `***` in place of everything that is secret, looks
 * secret, or came into the file from the environment.
 *
 * @param config what `loadConfig` returned, not a copy of it
 * @throws ConfigurationError for anything else, of which nobody knows what is secret
 */
export function describeConfig(config: object): object {
  const description = descriptions.get(config);
  if (description !== undefined) return description;
  const message = "must be the object that loadConfig() returned, not a copy of it";
  throw new ConfigurationError("describeConfig()", [{ key: "config", message }]);
}
