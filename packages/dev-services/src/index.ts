export { demoFolder } from "./account.ts";
export { type Attempt, maskUrl, NoServerError } from "./attempts.ts";
export { type DemoOptions, demoPostgres, type DemoPostgres } from "./demo-postgres.ts";
export { demoRedis, type DemoRedis } from "./demo-redis.ts";
export { freePort, freePorts } from "./free-port.ts";
export { startHttpbin } from "./httpbin.ts";
export { type NatsOptions, type NatsServer, startNats, testNats, type TestNats } from "./nats.ts";
export { type NginxOptions, startNginx } from "./nginx.ts";
export {
  type PgBouncer,
  type PgBouncerOptions,
  startPgBouncer,
  testPgBouncer,
  type TestPgBouncer,
} from "./pgbouncer.ts";
export { type Program, type ProgramName } from "./programs.ts";
export { type PostgresServer, startPostgres } from "./postgres.ts";
export type { PostgresOptions } from "./postgres-process.ts";
export { type RedisOptions, type RedisServer, startRedis } from "./redis.ts";
export {
  type RedisCluster,
  startRedisCluster,
  testRedisCluster,
  type TestRedisCluster,
} from "./redis-cluster.ts";
export { type Lookup, requireProgram } from "./require-program.ts";
export { type ServerKind, type ServerProcess, startServer } from "./server-process.ts";
export { mochaGlobalTeardown } from "./shared-servers.ts";
export {
  openTestDatabase,
  type OpenTestDatabase,
  testDatabase,
  type TestDatabase,
  type TestDatabaseOptions,
} from "./test-database.ts";
export { openTestLogin, type OpenTestLogin, type TestLoginOptions } from "./test-login.ts";
export { needsPostgres, needsSharedPostgres, testPostgresServer, type TestServer } from "./test-postgres.ts";
export { testProgram, type TestProgram } from "./mocha.ts";
export { openTestRedis, type OpenTestRedis, testRedis, type TestRedis } from "./test-redis.ts";
