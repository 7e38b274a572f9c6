import { ConfigurationError, fault, type Fault } from "./configuration-error.ts";
import type { EnvironmentName } from "./environment-names.ts";
import { type Kind, objectWith, type OptionalKind, withDefault } from "./kinds.ts";
import { namesOf } from "./names.ts";
import { resolveOptions } from "./resolve-options.ts";

/** Describes a value whose unit or bounds in a file differ from the option's. */
export interface FileKind {
  readonly kind: Kind<unknown>;
  /** Converts a file value to an option value. */
  readonly toOption: (value: never) => unknown;
  /** Converts an option value (its default) to a file value. */
  readonly toFile: (value: never) => unknown;
}

/** The only definition of an option. Its doc comment describes the option in README tables. */
export interface Option<K extends Kind<unknown> = Kind<unknown>> {
  /** Allowed values and default. */
  readonly kind: K;
  /** Key in the option's table of the configuration file. Default: none; the option can only be set in code. */
  readonly key?: string | undefined;
  /** Unit and bounds in the file. Default: the same as in `kind`. */
  readonly inFile?: FileKind | undefined;
  /** One or more environment variables that also set the option; the first one set counts. Default: none. */
  readonly env?: string | readonly string[] | undefined;
  /** Which value is used when both the file and the environment set the option. Default: `"file"`. */
  readonly wins?: "env" | "file" | undefined;
  /** Returns a default that depends on the service's environment. Default: the default of `kind`. */
  readonly defaultIn?: ((environment: EnvironmentName) => unknown) | undefined;
}

/** A nested table of the file. */
export interface OptionTable {
  readonly key: string;
  readonly table: Definition;
}

/** A table of tables whose names the user chooses. */
export interface NamedOptionTables {
  readonly key: string;
  readonly each: Definition;
}

/** The definition of each option, by its name in code. */
export type OptionEntries = Readonly<Record<string, Option | OptionTable | NamedOptionTables>>;

/** Options that are defined once: for code, for the file, for the environment and for documentation. */
export interface Definition<E extends OptionEntries = OptionEntries> {
  /** The factory call as it appears in error messages, for example `createCache()`. */
  readonly subject: string;
  readonly keys: E;
  /**
   * Returns the faults in a combination of valid options; the `key` of a fault is an option's name in code.
   *
   * @param name returns an option's name as the user wrote it
   */
  // `option` has the type `never`: with `keyof E`, TypeScript before 7 would not accept any definition as a `Definition`,
  // which `OptionsOf` requires.
  faultsOf(this: void, options: ResolvedOptions<E>, name: (option: never) => string): readonly Fault[];
  /**
   * Checks the options of a factory and fills in the defaults.
   *
   * @param given undefined counts as `{}`
   * @returns a new frozen object with every option present
   * @throws ConfigurationError that lists all unknown and invalid options, under the names that `withNames()` attached
   *   to `given`, if any
   */
  resolve(given: object | undefined): ResolvedOptions<E>;
}

/** The result of {@link defineOptions}. */
export interface CheckableDefinition<E extends OptionEntries> extends Definition<E> {
  /** Returns the definition with a check for combinations of options. */
  withCheck(this: void, check: OptionsCheck<E>): Definition<E>;
}

type ValueOf<T> = T extends { readonly kind: Kind<infer V> }
  ? V
  : T extends { readonly table: Definition<infer E> }
    ? OptionsOf<Definition<E>>
    : T extends { readonly each: Definition<infer E> }
      ? Readonly<Record<string, OptionsOf<Definition<E>>>>
      : never;

type ResolvedValueOf<T> = T extends { readonly kind: OptionalKind<infer V, infer D> }
  ? V | D
  : T extends { readonly kind: Kind<infer V> }
    ? V
    : T extends { readonly table: Definition<infer E> }
      ? ResolvedOptions<E>
      : T extends { readonly each: Definition<infer E> }
        ? Readonly<Record<string, ResolvedOptions<E>>>
        : never;

type RequiredNames<E extends OptionEntries> = {
  [N in keyof E]: E[N] extends { readonly kind: OptionalKind<unknown, unknown> }
    ? never
    : E[N] extends { readonly kind: Kind<unknown> }
      ? N
      : never;
}[keyof E];

// These types map over a parameter that extends `keyof E`, so that the members keep the doc comments of the definition.
type RequiredOptions<E, K extends keyof E> = { readonly [N in K]: ValueOf<E[N]> };
type LeftOutOptions<E, K extends keyof E> = { readonly [N in K]?: ValueOf<E[N]> | undefined };

/** The options that a caller passes; options with a default may be omitted. */
export type OptionsOf<D extends Definition> = RequiredOptions<D["keys"], RequiredNames<D["keys"]>> &
  LeftOutOptions<D["keys"], Exclude<keyof D["keys"], RequiredNames<D["keys"]>>>;

/**
 * The options `O` whose functions are methods of the interface `M`, so that a function may declare the request of Express that
 * it expects: the parameters of methods are bivariant. Declaration files contain the derived options as function types, whose
 * parameters are checked strictly.
 */
export type WithMethods<O, M> = {
  readonly [N in keyof O]: N extends keyof M ? Exclude<O[N], (...args: never) => unknown> | M[N] : O[N];
};

/** The options with every default filled in. */
export type ResolvedOptions<E extends OptionEntries> = { readonly [N in keyof E]: ResolvedValueOf<E[N]> };

/**
 * Checks combinations of options, after each option is valid by itself.
 *
 * @param name returns an option's name as the user wrote it, in code or in the file
 * @returns the faults, each with the option's name in code as its `key`; the check may be a generator function
 */
export type OptionsCheck<E extends OptionEntries> = (
  options: ResolvedOptions<E>,
  name: (option: keyof E & string) => string,
) => Iterable<Fault>;

/**
 * Defines the options of a factory or of a plugin.
 *
 * @param subject the factory call as it appears in error messages, for example `createCache()`
 * @param check as for `withCheck`
 * @throws TypeError when two options have the same key or the same variable
 */
export function defineOptions<const E extends OptionEntries>(
  subject: string,
  keys: E,
  check: OptionsCheck<E> = () => [],
): CheckableDefinition<E> {
  refuseRepeated(
    subject,
    "key",
    Object.values(keys).flatMap(({ key }) => key ?? []),
  );
  refuseRepeated(subject, "variable", variablesOf({ keys }));
  const kinds = Object.fromEntries(Object.entries(keys).map(([name, entry]) => [name, kindOf(entry)]));
  return {
    subject,
    keys,
    faultsOf: (options, name) => [...check(options, name as (option: string) => string)],
    resolve(given) {
      const names = namesOf(given, subject);
      const options = resolveOptions(subject, given, kinds) as ResolvedOptions<E>;
      const faults = [...check(options, names.of)].map(({ key, message }) => fault(names.of(key), message));
      if (faults.length === 0) return options;
      throw new ConfigurationError(names.subject, faults);
    },
    withCheck: (other) => defineOptions(subject, keys, other),
  };
}

/** Returns some entries of a definition, for use in another definition. */
export function pickOptions<E extends OptionEntries, const N extends keyof E>(
  { keys }: Definition<E>,
  ...names: readonly N[]
): { readonly [K in N]: E[K] } {
  return Object.fromEntries(names.map((name) => [name, keys[name]])) as { readonly [K in N]: E[K] };
}

type KeyedNames<E> = { [N in keyof E]: E[N] extends { readonly key: string } ? N : never }[keyof E];

/** Returns the entries of a definition that a file can set, for use in a plugin's definition. */
export function fileOptions<E extends OptionEntries, N extends keyof E = KeyedNames<E>>({
  keys,
}: Definition<E>): { readonly [K in N]: E[K] } {
  return Object.fromEntries(Object.entries(keys).filter(([, { key }]) => key !== undefined)) as {
    readonly [K in N]: E[K];
  };
}

/** The entries of a definition or of a nested table, in the form that a reader of a configuration file uses. */
export interface KeyedEntries {
  readonly keys: Readonly<
    Record<
      string,
      | Option
      | { readonly key: string; readonly table: KeyedEntries }
      | { readonly key: string; readonly each: KeyedEntries }
    >
  >;
}

/** Returns the environment variables of the options and of nested tables, in order. */
export function variablesOf({ keys }: KeyedEntries): string[] {
  return Object.values(keys).flatMap((entry) => {
    if ("kind" in entry) return [entry.env ?? []].flat();
    return variablesOf("table" in entry ? entry.table : entry.each);
  });
}

function refuseRepeated(subject: string, what: string, names: readonly string[]): void {
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  if (repeated !== undefined) throw new TypeError(`two options of ${subject} have the ${what} ${repeated}`);
}

function kindOf(entry: Option | OptionTable | NamedOptionTables): Kind<unknown> {
  if ("kind" in entry) return entry.kind;
  return withDefault(isObject, {});
}

const isObject: Kind<object> = objectWith<object>("an object");

/**
 * Returns `inFile` of an option whose unit is milliseconds in code and seconds in the file.
 *
 * @param seconds allowed values in the file
 */
export function inSeconds(seconds: Kind<number>): FileKind {
  return {
    kind: seconds,
    toOption: (value: number) => Math.round(value * 1e6) / 1e3,
    toFile: (value: number | undefined) => (value === undefined ? undefined : value / 1000),
  };
}
