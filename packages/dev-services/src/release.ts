import { releaseSharedPostgres } from "./shared-postgres.ts";
import { releaseSharedRedis } from "./test-redis.ts";

/**
 * For mocha's root hooks, or any other program that used {@link openTestDatabase} or {@link openTestRedis}: lets go of
 * the shared servers at once. Without it they end a moment after the last process of the run.
 */
export async function mochaGlobalTeardown(): Promise<void> {
  await Promise.all([releaseSharedPostgres(), releaseSharedRedis()]);
}
