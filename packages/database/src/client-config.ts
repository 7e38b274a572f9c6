import { type Names, optionError } from "@svc/options";
import { Client, type ClientConfig } from "pg";
import type { ResolvedDatabase } from "./options.ts";

const LONGEST_MS = 2 ** 31 - 1;
/** Milliseconds that the server has to cancel a statement after its deadline; a slower server counts as hung. */
export const GRACE_MS = 500;

/**
 * Returns the configuration for `pg`.
 *
 * @param names how error messages name the options
 * @throws ConfigurationError
 */
export function clientConfig(options: ResolvedDatabase, names: Names): ClientConfig {
  const { url, host, port, database, user, password, ssl, applicationName, statementTimeoutMs } = options;
  const place = { host, port, database, user, password, ssl, connectionString: url };
  const config: ClientConfig = {
    ...Object.fromEntries(Object.entries(place).filter(([, value]) => value !== undefined)),
    application_name: applicationName,
    statement_timeout: Math.ceil(statementTimeoutMs),
    query_timeout: Math.min(Math.ceil(statementTimeoutMs) + GRACE_MS, LONGEST_MS),
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  };
  try {
    // `pg` rejects invalid escapes and missing certificate files only when a client is created.
    new Client(config);
  } catch (error) {
    // The error's message may quote the URL.
    const { code } = error as NodeJS.ErrnoException;
    const message = `cannot be parsed by pg${code === undefined ? "" : ` (${code})`}`;
    throw optionError(names, "url", message);
  }
  return config;
}
