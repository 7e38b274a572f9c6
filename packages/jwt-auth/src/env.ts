/** Where a service runs. `prod` applies the strict rules. */
export type Env = "local" | "dev" | "staging" | "prod";

/** All environments. */
export const envs = ["local", "dev", "staging", "prod"] as const;
