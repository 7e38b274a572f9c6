/** Where a service runs. `prod` has the strict rules. */
export type Env = "local" | "dev" | "staging" | "prod";

/** Every environment there is. */
export const envs = ["local", "dev", "staging", "prod"] as const;
