import type { createLogger } from "@svc/log";

/** The pino logger of a service. */
export type ServiceLogger = ReturnType<typeof createLogger>;
