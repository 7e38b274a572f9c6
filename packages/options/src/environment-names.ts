/** The environments that a service can run in (ENV-2). */
export const environmentNames = ["local", "dev", "staging", "prod"] as const;

/** The environment that a service runs in. */
export type EnvironmentName = (typeof environmentNames)[number];
