import { oneLine } from "./show.ts";

/** A fault in a configuration. */
export interface Fault {
  /** The option, file key or environment variable at fault, as the user wrote it. */
  readonly key: string;
  /** What is wrong and what is allowed, in one line. Never contains a secret. */
  readonly message: string;
}

/** Returns a fault in an option. */
export function fault(key: string, message: string): Fault {
  return { key, message };
}

/** Thrown when options or a configuration file are invalid. Lists every fault, not only the first. */
export class ConfigurationError extends Error {
  override readonly name = "ConfigurationError";
  readonly code = "ERR_SVC_CONFIGURATION";
  readonly faults: readonly Fault[];

  /**
   * @param subject what is being configured, for example `jsonBody()` or `service.toml`
   * @param faults every fault found, at least one
   */
  constructor(subject: string, faults: readonly Fault[], options?: ErrorOptions) {
    const lines = faults.map((fault) => `  - ${oneLine(fault.key)}: ${oneLine(fault.message)}`);
    const count = faults.length === 1 ? "1 fault" : `${faults.length} faults`;
    super(`${subject} is configured wrongly (${count}):\n${lines.join("\n")}`, options);
    this.faults = Object.freeze([...faults]);
  }
}

/**
 * Checks that a guard factory was called without arguments. If the factory itself is passed to a route, without
 * parentheses, it returns a guard instead of calling `next()`, and the request hangs.
 *
 * @param subject the call of the guard factory, for example `requireAuth()`
 * @throws ConfigurationError for an argument other than undefined
 */
export function takesNothing(subject: string, given: readonly unknown[]): void {
  if (given.every((each) => each === undefined)) return;
  const message = `must be empty; write ${subject} with its parentheses where the route is defined`;
  throw new ConfigurationError(subject, [{ key: "arguments", message }]);
}
