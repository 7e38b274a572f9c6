import { ConfigurationError } from "@svc/options";
import type { PluginContext } from "./plugin.ts";

/** Collects the faults of all plugins. */
export interface Refusals extends Pick<PluginContext, "noted"> {
  /** Returns all faults in one error; undefined without faults. */
  readonly error: () => ConfigurationError | undefined;
}

/** Creates a collector, so that the faults of all plugins are reported at once (CFG-12). */
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
