/** The environments that a service can run in (ENV-2). */
export const environmentNames = ["local", "dev", "staging", "prod"] as const;

/** The environment that a service runs in. */
export type EnvironmentName = (typeof environmentNames)[number];

const OF_NODE_ENV: ReadonlyMap<string, EnvironmentName> = new Map([
  ["production", "prod"],
  ["development", "dev"],
  ["test", "local"],
]);

/**
 * Returns `did you mean "prod"?` for `"production"`, and likewise for the other words of NODE_ENV, in upper or lower case;
 * undefined for any other value.
 */
export function environmentHint(value: unknown): string | undefined {
  const meant = typeof value === "string" ? OF_NODE_ENV.get(value.toLowerCase()) : undefined;
  return meant === undefined ? undefined : `did you mean "${meant}"?`;
}
