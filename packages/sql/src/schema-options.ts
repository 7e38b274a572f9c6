import { OptionError } from "./errors.ts";
import { qualified } from "./identifier.ts";
import { COMMAND_TIMEOUT_MS, MAINTENANCE_TIMEOUT_MS } from "./option-kinds.ts";
import { checkNames, checkTimeout, checkWhole } from "./options.ts";

/** Time limits for reading and creating a schema. */
export interface SchemaTimeouts {
  /** Time limit for a connection, and for each response from the catalogue, in milliseconds. Default 15000. */
  readonly commandTimeoutMs?: number | undefined;
  /** Time limit for each statement that creates something, including waiting for locks, in milliseconds. Default 600000. */
  readonly maintenanceTimeoutMs?: number | undefined;
}

/** Type of each column as PostgreSQL writes it, without length; a list allows any of the listed types. */
export type Columns = Readonly<Record<string, string | readonly string[]>>;

/** A schema step for a migration tool. */
export interface Migration {
  /** Name of the step; sorts after the previous step's name. */
  readonly name: string;
  /** Statements that are harmless if their objects already exist. */
  readonly statements: readonly string[];
}

export interface SchemaOptions extends SchemaTimeouts {
  /** Name of the schema in errors and in its lock; calls with the same name run one after another. Required. */
  readonly name: string;
  /** Required tables by name or `schema.name`, with their required columns. Default: none. */
  readonly tables?: Readonly<Record<string, Columns>> | undefined;
  /** Other required relations (indexes, sequences, views), by name or `schema.name`. Default: none. */
  readonly relations?: readonly string[] | undefined;
  /**
   * Query whose first row contains only `true` when nothing is missing; its columns must have distinct names. Default: none.
   */
  readonly isPresent?: string | undefined;
  /**
   * Messages for the conditions of `isPresent`, reported if a condition is still false after the statements. With one
   * message per column of the query, reports only the messages of columns that are not true. Default: none.
   */
  readonly needs?: readonly string[] | undefined;
  /** Statements that create what is missing. Each must be harmless if its object already exists. Required. */
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
