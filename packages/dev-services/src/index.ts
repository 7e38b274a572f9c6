export { demoFolder } from "./account.ts";
export { type Attempt, maskUrl, NoServerError } from "./attempts.ts";
export { type DemoOptions, demoPostgres, type DemoPostgres } from "./demo-postgres.ts";
export { freePort } from "./free-port.ts";
export { type NatsOptions, type NatsServer, startNats } from "./nats.ts";
export { type PgBouncer, type PgBouncerOptions, startPgBouncer } from "./pgbouncer.ts";
export { type Program, type ProgramName } from "./programs.ts";
export { type PostgresServer, startPostgres } from "./postgres.ts";
export type { PostgresOptions } from "./postgres-process.ts";
export { type RedisOptions, type RedisServer, startRedis } from "./redis.ts";
export { type RedisCluster, startRedisCluster } from "./redis-cluster.ts";
export { type Lookup, requireProgram } from "./require-program.ts";
export { mochaGlobalTeardown } from "./release.ts";
export {
  openTestDatabase,
  type OpenTestDatabase,
  testDatabase,
  type TestDatabase,
  type TestDatabaseOptions,
} from "./test-database.ts";
export { openTestLogin, type OpenTestLogin, type TestLoginOptions } from "./test-login.ts";
export { testNats, type TestNats } from "./test-nats.ts";
export { needsPostgres, needsSharedPostgres } from "./test-postgres.ts";
export { testProgram, type TestProgram } from "./test-program.ts";
export { testPgBouncer, type TestPgBouncer } from "./test-pgbouncer.ts";
export { openTestRedis, type OpenTestRedis, testRedis, type TestRedis } from "./test-redis.ts";
export { testRedisCluster, type TestRedisCluster } from "./test-redis-cluster.ts";
export { testPostgresServer, type TestServer } from "./test-server.ts";
