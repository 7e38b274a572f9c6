import { releaseSharedPostgres } from "./test-database.ts";
import { releaseSharedRedis } from "./test-redis.ts";

/**
 * Releases the shared servers at once. For mocha's root hooks, or any other program that used {@link openTestDatabase} or
 * {@link openTestRedis}. Without it they end a moment after the last process of the run.
 */
export async function mochaGlobalTeardown(): Promise<void> {
  await Promise.all([releaseSharedPostgres(), releaseSharedRedis()]);
}
