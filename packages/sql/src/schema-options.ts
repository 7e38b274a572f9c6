import { OptionError } from "./errors.ts";
import { qualified } from "./identifier.ts";
import { COMMAND_TIMEOUT_MS, MAINTENANCE_TIMEOUT_MS } from "./option-kinds.ts";
import { checkNames, checkTimeout, checkWhole } from "./options.ts";

/** How long it may take to ask for a schema and to make it. */
export interface SchemaTimeouts {
  /** Milliseconds to wait for a connection, and for each answer of the catalogue. Default 15000. */
  readonly commandTimeoutMs?: number | undefined;
  /** Milliseconds that each statement may take which makes what is missing, its wait for locks included. Default 600000. */
  readonly maintenanceTimeoutMs?: number | undefined;
}

/** For every column its type as PostgreSQL writes it, without length; several where any of them will do. */
export type Columns = Readonly<Record<string, string | readonly string[]>>;

export interface SchemaOptions extends SchemaTimeouts {
  /** What the schema is called in errors; who uses the same name waits for each other. Required. */
  readonly name: string;
  /** Tables that must be there, by name or `schema.name`, with the columns that they need. Default: none. */
  readonly tables?: Readonly<Record<string, Columns>> | undefined;
  /** Other relations (indexes, sequences, views) that must be there, by name or `schema.name`. Default: none. */
  readonly relations?: readonly string[] | undefined;
  /** A query whose first row has nothing but true when nothing is missing, each under a name of its own. Default: none. */
  readonly isPresent?: string | undefined;
  /**
   * What `isPresent` asks for, in words: the faults when it is not so after the statements either. Where there is one for
   * every column of the query, those of the columns that are not true. Default: none.
   */
  readonly needs?: readonly string[] | undefined;
  /** The statements that make what is missing. Each must do no harm where its part is there already. Required. */
  readonly statements: readonly string[];
  /** Milliseconds to wait for any one lock. Default 10000; 0 waits for ever. */
  readonly lockTimeoutMs?: number | undefined;
}

/** A wanted relation: its name as given and as SQL, with the columns it must have. */
export interface Wanted {
  readonly name: string;
  readonly sql: string;
  readonly columns: Columns;
}

export interface ResolvedSchema {
  readonly name: string;
  readonly wanted: readonly Wanted[];
  readonly isPresent: string | undefined;
  readonly needs: readonly string[] | undefined;
  readonly statements: readonly string[];
  readonly lockTimeoutMs: number;
  readonly commandTimeoutMs: number;
  readonly maintenanceTimeoutMs: number;
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
  const { commandTimeoutMs, maintenanceTimeoutMs } = resolveTimeouts(subject, options);
  if (typeof name !== "string" || name === "") throw new OptionError(`${subject}: name must be a string`);
  if (!Array.isArray(statements) || statements.length === 0 || !statements.every(isText)) {
    throw new OptionError(`${subject}: statements must be a list of at least one statement`);
  }
  if (isPresent !== undefined && !isText(isPresent)) {
    throw new OptionError(`${subject}: isPresent must be a query`);
  }
  if (needs !== undefined && (!Array.isArray(needs) || needs.length === 0 || !needs.every(isText))) {
    throw new OptionError(`${subject}: needs must be a list of at least one text`);
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
    throw new OptionError(`${subject}: tables, relations or isPresent must say what is to be there`);
  }
  return {
    name,
    wanted,
    isPresent,
    needs,
    statements,
    lockTimeoutMs,
    commandTimeoutMs,
    maintenanceTimeoutMs,
  };
}

/** @throws OptionError */
export function resolveTimeouts(
  subject: string,
  { commandTimeoutMs = COMMAND_TIMEOUT_MS, maintenanceTimeoutMs = MAINTENANCE_TIMEOUT_MS }: SchemaTimeouts,
): { readonly commandTimeoutMs: number; readonly maintenanceTimeoutMs: number } {
  checkTimeout(subject, "commandTimeoutMs", commandTimeoutMs);
  checkTimeout(subject, "maintenanceTimeoutMs", maintenanceTimeoutMs);
  return { commandTimeoutMs, maintenanceTimeoutMs };
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}
