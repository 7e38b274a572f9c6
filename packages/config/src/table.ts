import type { EnvironmentName, Kind, Option, OptionalKind } from "@svc/options";

/** A kind with a default (`withDefault`, `optional`), or a kind for a required key. */
export type KeyKind<T> = (Kind<T> & { readonly optional?: never }) | OptionalKind<T, T>;

/** One setting: its key, its variable, its kind, and whether the file or the environment takes precedence. */
export interface Key<T> {
  /** The name of the setting in the file's table. */
  readonly key: string;
  /** The kind, with its default. A `secret` value is never shown. */
  readonly kind: KeyKind<T>;
  /** The environment variable that can also set the value. Default: none. */
  readonly env?: string | undefined;
  /** Which value is used when the file and the environment both set it. Default: `"file"`. */
  readonly wins?: "env" | "file" | undefined;
  /** Returns a default that depends on the environment. Default: the default in `kind`. */
  readonly defaultIn?: ((environment: EnvironmentName) => T) | undefined;
}

/** A nested table. */
export interface SubTable<S extends object> {
  readonly key: string;
  readonly table: Table<S>;
}

/** A table whose nested tables have names chosen by the user, for example one per sign-in provider. */
export interface NamedTables<S extends object> {
  readonly key: string;
  readonly each: Table<S>;
}

/** The definition of one setting with the type T. */
export type Entry<T> =
  Key<T> | (T extends readonly unknown[] ? never : T extends object ? TableEntry<T> : never);

type TableEntry<T extends object> =
  SubTable<T> | (T extends Readonly<Record<string, infer S extends object>> ? NamedTables<S> : never);

/** A fault in the combination of keys that are valid individually. */
export interface TableFault {
  /** The key, as in the file. */
  readonly key: string;
  /** The fault and its remedy in one line, without values that may be secret. */
  readonly message: string;
}

/** Defines keys and environment variables for the settings S. */
export interface Table<S extends object> {
  /** The definition of each setting. */
  readonly keys: { readonly [N in keyof S]-?: Entry<S[N]> };
  /** Checks the combination of settings; called only if every one of them is valid. Default: no check. */
  check?(settings: S, environment: EnvironmentName): readonly TableFault[];
}

/** Settings by plugin or section name. */
export type SettingsByName = Readonly<Record<string, object>>;

/** A table for each name. */
export type Tables<P extends SettingsByName> = { readonly [N in keyof P]: Table<P[N]> };

/** An untyped table, as the file reader needs it. Definitions from `@svc/options` also match. */
export interface UntypedTable {
  readonly keys: Readonly<Record<string, UntypedEntry>>;
  check?(settings: object, environment: EnvironmentName): readonly TableFault[];
  /**
   * Like `check`, for definitions from `@svc/options`: `key` of a fault is an option's name in code. In messages, `name`
   * replaces such a name with the key in the file.
   */
  faultsOf?(options: never, name: (option: string) => string): readonly TableFault[];
}

type UntypedEntry = Option | UntypedSubTable | UntypedNamedTables;

interface UntypedSubTable {
  readonly key: string;
  readonly table: UntypedTable;
}

interface UntypedNamedTables {
  readonly key: string;
  readonly each: UntypedTable;
}
