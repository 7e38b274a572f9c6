import { ConfigurationError, fault } from "./configuration-error.ts";

/** The names of options as the user writes them: in code, in a file, or in the environment. */
export interface Names {
  /** What is configured, for example `createCache()` or `the service`. */
  readonly subject: string;
  /** Returns the name of an option as the user wrote it, for example `plugin.cache.url`. */
  readonly of: (option: string) => string;
}

// Registered globally, so that two installed copies of this package share the symbol.
const NAMES = Symbol.for("@svc/options/names");

/**
 * Returns a copy of options with their names attached. Every fault that a factory finds in the copy, or in an object
 * that the copy is spread into, uses these names.
 */
export function withNames<T extends object>(options: T, names: Names): T {
  return { ...options, [NAMES]: names };
}

/** Returns some of the options, for a factory that rejects the others; the same names are attached to the result. */
export function takeOptions<T extends object, const N extends keyof T>(
  options: T,
  ...names: readonly N[]
): Pick<T, N> {
  return Object.fromEntries([NAMES as unknown as N, ...names].map((name) => [name, options[name]])) as Pick<
    T,
    N
  >;
}

/** Returns the names attached to options, or else the names in code. */
export function namesOf(options: object | undefined, subject: string): Names {
  const names = (options as { readonly [NAMES]?: Names } | undefined)?.[NAMES];
  return names ?? { subject, of: (option) => option };
}

/** Returns the error for one invalid option, under the name that the user wrote. */
export function optionError(
  { subject, of }: Names,
  option: string,
  message: string,
  options?: ErrorOptions,
): ConfigurationError {
  return new ConfigurationError(subject, [fault(of(option), message)], options);
}
