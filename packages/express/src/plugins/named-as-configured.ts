import { ConfigurationError } from "@svc/options";
import type { PluginContext } from "@svc/plugin";

/**
 * Runs a factory that does not know how its options are configured. In its errors, replaces the names of options by those
 * that the author of the configuration wrote.
 *
 * @param maker the factory call to replace in error messages, for example `createWorker()`
 */
export function namedAsConfigured<T>(
  { options, nameOf }: Pick<PluginContext<object>, "options" | "nameOf">,
  maker: string,
  make: () => T,
): T {
  const named = (option: string): string => (Object.hasOwn(options, option) ? nameOf(option) : option);
  try {
    return make();
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const faults = error.faults.map(({ key, message }) => ({
      key: named(key),
      // Only camelCase names, because a name such as `secret` may be a plain word.
      message: message.replaceAll(maker, "the service").replace(/\b[a-z]+[A-Z][A-Za-z]*\b/g, named),
    }));
    throw new ConfigurationError("the service", faults);
  }
}
