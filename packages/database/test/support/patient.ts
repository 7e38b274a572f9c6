/** Of a server that answers, or refuses at once: none of these times has to pass, and no machine that is held up lets them pass. */
export const PATIENT = {
  connectTimeoutMs: 15_000,
  acquireTimeoutMs: 15_000,
  statementTimeoutMs: 15_000,
  readinessTimeoutMs: 15_000,
  breakerCoolDownMs: 100,
} as const;
