import { ConfigurationError } from "@svc/options";
import type { PluginContext } from "./plugin.ts";

/** What the plugins were refused for. */
export interface Refusals extends Pick<PluginContext, "noted"> {
  /** All of it in one error; undefined when there is nothing. */
  readonly error: () => ConfigurationError | undefined;
}

/** A plugin that is configured wrongly keeps the faults of the next one from nobody (CFG-12). */
export function createRefusals(): Refusals {
  const refusals: ConfigurationError[] = [];
  return {
    async noted(make) {
      try {
        return await make();
      } catch (error) {
        if (!(error instanceof ConfigurationError)) throw error;
        refusals.push(error);
        return undefined;
      }
    },
    error() {
      const [first] = refusals;
      if (first === undefined || refusals.length === 1) return first;
      const faults = refusals.flatMap((each) => each.faults);
      return new ConfigurationError("the service", faults);
    },
  };
}
