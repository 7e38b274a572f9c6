import { OptionError } from "./errors.ts";
import { qualified } from "./identifier.ts";
import { COMMAND_TIMEOUT_MS, MAINTENANCE_TIMEOUT_MS } from "./option-kinds.ts";
import { checkNames, checkTimeout, checkWhole } from "./options.ts";

/** Time limits for reading and creating a schema. */
export interface SchemaTimeouts {
  /** Milliseconds to wait for a connection, and for each answer from the catalogue. Default 15000. */
  readonly commandTimeoutMs?: number | undefined;
  /** Milliseconds for each statement that creates a missing part, including its wait for locks. Default 600000. */
  readonly maintenanceTimeoutMs?: number | undefined;
}

/** Type of each column as PostgreSQL writes it, without length; a list allows any of its types. */
export type Columns = Readonly<Record<string, string | readonly string[]>>;

/** A schema step for a migration tool. */
export interface Migration {
  /** Sorts after the name of the previous step. */
  readonly name: string;
  /** Statements that are harmless when their part exists already. */
  readonly statements: readonly string[];
}

export interface SchemaOptions extends SchemaTimeouts {
  /** Name of the schema in errors and in its lock: calls with the same name run one after another. Required. */
  readonly name: string;
  /** Required tables by name or `schema.name`, with their required columns. Default: none. */
  readonly tables?: Readonly<Record<string, Columns>> | undefined;
  /** Other required relations (indexes, sequences, views), by name or `schema.name`. Default: none. */
  readonly relations?: readonly string[] | undefined;
  /** Query whose first row contains only `true` when nothing is missing; name its columns differently. Default: none. */
  readonly isPresent?: string | undefined;
  /**
   * Texts for the conditions of `isPresent`, reported when they are still false after the statements. With one text for
   * each column of the query, only the texts of the columns that are not true. Default: none.
   */
  readonly needs?: readonly string[] | undefined;
  /** Statements that create the missing parts. Each must be harmless when its part exists already. Required. */
  readonly statements: readonly string[];
  /** Milliseconds to wait for any one lock. Default 10000; 0 waits without limit. */
  readonly lockTimeoutMs?: number | undefined;
}

/** A required relation: its name as given and quoted for SQL, with its required columns. */
export interface Wanted {
  readonly name: string;
  readonly sql: string;
  readonly columns: Columns;
}

type ResolvedTimeouts = { readonly [N in keyof SchemaTimeouts]-?: NonNullable<SchemaTimeouts[N]> };

export interface ResolvedSchema extends ResolvedTimeouts, Pick<SchemaOptions, "name" | "statements"> {
  readonly wanted: readonly Wanted[];
  readonly isPresent: string | undefined;
  readonly needs: readonly string[] | undefined;
  readonly lockTimeoutMs: number;
}

/** @throws OptionError, IdentifierError */
export function resolveSchema(options: SchemaOptions): ResolvedSchema {
  const subject = "ensureSchema()";
  checkNames(subject, options, [
    "name",
    "tables",
    "relations",
    "isPresent",
    "needs",
    "statements",
    "lockTimeoutMs",
    "commandTimeoutMs",
    "maintenanceTimeoutMs",
  ]);
  const { name, tables = {}, relations = [], isPresent, needs, statements, lockTimeoutMs = 10_000 } = options;
  const timeouts = resolveTimeouts(subject, options);
  if (typeof name !== "string" || name === "") throw new OptionError(`${subject}: name must be a string`);
  if (!Array.isArray(statements) || statements.length === 0 || !statements.every(isText)) {
    throw new OptionError(`${subject}: statements must be a list of at least one statement`);
  }
  if (isPresent !== undefined && !isText(isPresent)) {
    throw new OptionError(`${subject}: isPresent must be a query`);
  }
  if (needs !== undefined && (!Array.isArray(needs) || needs.length === 0 || !needs.every(isText))) {
    throw new OptionError(`${subject}: needs must be a list of at least one string`);
  }
  checkWhole(subject, "lockTimeoutMs", lockTimeoutMs);
  for (const [table, columns] of Object.entries(tables)) {
    for (const [column, type] of Object.entries(columns)) {
      const types = [type].flat();
      if (types.length > 0 && types.every(isText)) continue;
      throw new OptionError(`${subject}: tables.${table}.${column} must be a type or a list of types`);
    }
  }
  const wanted = [
    ...Object.entries(tables).map(([table, columns]) => ({ name: table, sql: qualified(table), columns })),
    ...relations.map((relation) => ({ name: relation, sql: qualified(relation), columns: {} })),
  ];
  if (wanted.length === 0 && isPresent === undefined) {
    throw new OptionError(`${subject}: set tables, relations or isPresent, which describe the schema`);
  }
  return { name, wanted, isPresent, needs, statements, lockTimeoutMs, ...timeouts };
}

/** @throws OptionError */
export function resolveTimeouts(
  subject: string,
  { commandTimeoutMs = COMMAND_TIMEOUT_MS, maintenanceTimeoutMs = MAINTENANCE_TIMEOUT_MS }: SchemaTimeouts,
): ResolvedTimeouts {
  checkTimeout(subject, "commandTimeoutMs", commandTimeoutMs);
  checkTimeout(subject, "maintenanceTimeoutMs", maintenanceTimeoutMs);
  return { commandTimeoutMs, maintenanceTimeoutMs };
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}
