import type { EnvironmentName, Kind, Option, OptionalKind } from "@svc/options";

/** A kind with a default (`withDefault`, `optional`), or one of a required key. */
export type KeyKind<T> = (Kind<T> & { readonly optional?: never }) | OptionalKind<T, T>;

/** One setting: its key and variable, its kind, and which of the two wins. */
export interface Key<T> {
  /** Its name in the table of the file. */
  readonly key: string;
  /** Its kind, with its default. A `secret` value is never shown. */
  readonly kind: KeyKind<T>;
  /** The environment variable that can also set it. Default: none. */
  readonly env?: string | undefined;
  /** Which value is used when the file and the environment both set it. Default: `"file"`. */
  readonly wins?: "env" | "file" | undefined;
  /** Returns a default that depends on the environment. Default: that of the kind. */
  readonly defaultIn?: ((environment: EnvironmentName) => T) | undefined;
}

/** A nested table. */
export interface SubTable<S extends object> {
  readonly key: string;
  readonly table: Table<S>;
}

/** A table of tables with names that the author of the file chooses, for example one per sign-in provider. */
export interface NamedTables<S extends object> {
  readonly key: string;
  readonly each: Table<S>;
}

/** The definition of one setting of the type T. */
export type Entry<T> =
  Key<T> | (T extends readonly unknown[] ? never : T extends object ? TableEntry<T> : never);

type TableEntry<T extends object> =
  SubTable<T> | (T extends Readonly<Record<string, infer S extends object>> ? NamedTables<S> : never);

/** A fault in the combination of keys that are valid by themselves. */
export interface TableFault {
  /** The key as in the file. */
  readonly key: string;
  /** The fault and its remedy in one line, without a value that may be secret. */
  readonly message: string;
}

/** Defines the keys and environment variables of the settings S. */
export interface Table<S extends object> {
  /** The definition of each setting. */
  readonly keys: { readonly [N in keyof S]-?: Entry<S[N]> };
  /** Checks the settings in combination; called only when each of them is valid. Default: no check. */
  check?(settings: S, environment: EnvironmentName): readonly TableFault[];
}

/** Settings by the name of their plugin or section. */
export type SettingsByName = Readonly<Record<string, object>>;

/** A table for each name. */
export type Tables<P extends SettingsByName> = { readonly [N in keyof P]: Table<P[N]> };

/** A table without the types of its settings, for the reader; a definition of `@svc/options` is one too. */
export interface UntypedTable {
  readonly keys: Readonly<Record<string, UntypedEntry>>;
  check?(settings: object, environment: EnvironmentName): readonly TableFault[];
  /** The same check of a definition: names of options in code, `name` returns their keys. */
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
