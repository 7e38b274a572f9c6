import type { Kind, OptionalKind } from "@svc/options";
import type { EnvironmentName } from "./environment.ts";

/** A kind that says what holds when nothing is said (`withDefault`, `optional`), or one that must be given. */
export type KeyKind<T> = (Kind<T> & { readonly optional?: never }) | OptionalKind<T, T>;

/** One value: where it may be said, what it may be, and who wins when both say it. */
export interface Key<T> {
  /** Its name in the file, in the table that it stands in. */
  readonly key: string;
  /** What it may be, with its default. A `secret` one is never shown. */
  readonly kind: KeyKind<T>;
  /** The environment variable that may say it too. Default: none. */
  readonly env?: string | undefined;
  /** Whose word counts when the file and the environment both speak. Default: `"file"`. */
  readonly wins?: "env" | "file" | undefined;
  /** The default, where it differs between environments. Default: that of the kind. */
  readonly defaultIn?: ((environment: EnvironmentName) => T) | undefined;
}

/** A table inside the table. */
export interface SubTable<S extends object> {
  readonly key: string;
  readonly table: Table<S>;
}

/** A table of tables whose names the file's author chooses, for example one per sign-in provider. */
export interface NamedTables<S extends object> {
  readonly key: string;
  readonly each: Table<S>;
}

/** What may feed one setting of the type T. */
export type Entry<T> =
  Key<T> | (T extends readonly unknown[] ? never : T extends object ? TableEntry<T> : never);

type TableEntry<T extends object> =
  SubTable<T> | (T extends Readonly<Record<string, infer S extends object>> ? NamedTables<S> : never);

/** Something that is wrong between keys that are each right. */
export interface TableFault {
  /** The key as it is called in the file. */
  readonly key: string;
  /** What is wrong and what to do, in one line, without any value that may be secret. */
  readonly message: string;
}

/** Which keys of the file and which environment variables make up the settings S. */
export interface Table<S extends object> {
  /** For every setting where it comes from. */
  readonly keys: { readonly [N in keyof S]-?: Entry<S[N]> };
  /** Looks at the settings together; asked only when each of them is right. Default: nothing to find. */
  check?(settings: S, environment: EnvironmentName): readonly TableFault[];
}

/** Settings by the name of their plugin or section. */
export type SettingsByName = Readonly<Record<string, object>>;

/** A table for every name. */
export type Tables<P extends SettingsByName> = { readonly [N in keyof P]: Table<P[N]> };

/** A table without its types, as the reader sees it. */
export interface UntypedTable {
  readonly keys: Readonly<Record<string, UntypedEntry>>;
  check?(settings: object, environment: EnvironmentName): readonly TableFault[];
}

export type UntypedEntry =
  | Key<unknown>
  | { readonly key: string; readonly table: UntypedTable }
  | { readonly key: string; readonly each: UntypedTable };

/** Every environment variable that a table names. */
export function environmentNamesOf(table: UntypedTable): string[] {
  return Object.values(table.keys).flatMap((entry) => {
    if ("kind" in entry) return entry.env === undefined ? [] : [entry.env];
    return environmentNamesOf("table" in entry ? entry.table : entry.each);
  });
}
