/** Names of existing and planned plugins: the twelve in the contract, then six more (CFG-7). */
export const pluginNames = [
  "observability",
  "metrics",
  "cache",
  "auth",
  "tenancy",
  "database",
  "http",
  "telemetry",
  "queue",
  "events",
  "rag",
  "llm",
  "rate_limit",
  "openapi",
  "scheduler",
  "gateway",
  "storage",
  "rollups",
] as const;

/** Why a planned name cannot be enabled, and what to do instead. */
export interface PluginRemedy {
  /** Completes `[plugin.<name>] is not read: ...`. */
  readonly reason: string;
  /** Completes `plugins.enabled: ...`. */
  readonly remedy: string;
}

/** Remedies for features that exist without a plugin of the same name. */
const remedies: Readonly<Partial<Record<(typeof pluginNames)[number], PluginRemedy>>> = {
  scheduler: {
    reason: "the plugin queue runs schedules",
    remedy: "the plugin queue runs schedules: remove scheduler from [plugins] enabled",
  },
};

/**
 * Returns why a planned name cannot be enabled, and what to do instead; undefined for a name that is not in
 * {@link pluginNames}.
 */
export function remedyFor(name: string): PluginRemedy | undefined {
  const planned = pluginNames.find((each) => each === name);
  if (planned === undefined) return undefined;
  return (
    remedies[planned] ?? {
      reason: `${name} is not implemented yet`,
      remedy: `${name} is not implemented yet`,
    }
  );
}
