export { demoFolder } from "./account.ts";
export { type Attempt, maskUrl, NoServerError } from "./attempts.ts";
export { type PostgresOptions, type PostgresServer, startPostgres } from "./postgres.ts";
export {
  openTestDatabase,
  type OpenTestDatabase,
  testDatabase,
  type TestDatabase,
  type TestDatabaseOptions,
} from "./test-database.ts";
