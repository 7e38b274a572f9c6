/** Timeouts for a server that responds or refuses immediately; they are too long to expire even on a slow machine. */
export const PATIENT = {
  connectTimeoutMs: 15_000,
  acquireTimeoutMs: 15_000,
  statementTimeoutMs: 15_000,
  readinessTimeoutMs: 15_000,
  breakerCoolDownMs: 100,
} as const;
