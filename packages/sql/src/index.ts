export { bounded, inTime } from "./bounded.ts";
export { type Deadline, SqlDeadlineError } from "./deadline-error.ts";
export { isConnectionError, safeErrorText, sqlStateOf } from "./error-class.ts";
export { IdentifierError, OptionError, SchemaError, TableError, TransactionError } from "./errors.ts";
export { ensureSchema } from "./ensure-schema.ts";
export { type Frame, isBesideAnother, loseTransaction, openFrame } from "./frames.ts";
export { isTransaction, transactionOf, type Within } from "./given-transaction.ts";
export { InexactIntegerError, parseExactJson } from "./exact-json.ts";
export { identifier, migrationName, qualified } from "./identifier.ts";
export { jsonBytes } from "./json-bytes.ts";
export { lend, withLentConnection } from "./lend.ts";
export {
  COMMAND_TIMEOUT_MS,
  commandTimeoutKind,
  databaseKind,
  MAINTENANCE_TIMEOUT_MS,
  maintenanceTimeoutKind,
  type OptionKind,
  tableNameKind,
} from "./option-kinds.ts";
export { literal } from "./literal.ts";
export { type PlannedStatement, SESSION_COLUMN, takesPlanned } from "./planned.ts";
export { plannedWithin, queryWithin } from "./query-within.ts";
export {
  type Connectable,
  type Database,
  isPool,
  original,
  type PooledConnection,
  type Queryable,
  type QueryResult,
  type Row,
} from "./queryable.ts";
export {
  enableRowSecurity,
  type RowSecurityOptions,
  rowSecurityStatements,
  type TenantType,
} from "./row-security.ts";
export type { Columns, Migration, SchemaOptions, SchemaTimeouts } from "./schema-options.ts";
export { type TableIndex, type TableNeeds, tableNeeds } from "./table-needs.ts";
export type { Settings } from "./settings.ts";
export { type TransactionOptions, withTransaction } from "./transaction.ts";
export { withMethods } from "./with-methods.ts";
