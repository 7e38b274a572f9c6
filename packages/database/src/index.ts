export { createDatabase, type Database } from "./database.ts";
export type { LentConnection } from "./lent-connection.ts";
export { mapperPool } from "./mapper-pool.ts";
export type { DatabaseOptions } from "./options.ts";
export { TenantError } from "./tenant.ts";
export { enableRowSecurity, type RowSecurityOptions, rowSecurityStatements, type TenantType } from "@svc/sql";
