import { NoServerError } from "./attempts.ts";
import { mochaHooks } from "./mocha-hooks.ts";
import { type RedisCluster, startRedisCluster } from "./redis-cluster.ts";

/** A cluster of one describe that its tests may stop, kill and start as they like. */
export interface TestRedisCluster {
  /** Only inside of tests and hooks. */
  readonly cluster: RedisCluster;
}

/**
 * For a `describe`: a Redis Cluster of its own with three nodes. Where there is no Redis the tests are skipped and that
 * is printed; with `CI=true` they fail.
 */
export function testRedisCluster(): TestRedisCluster {
  let open: RedisCluster | undefined;
  const { before, after } = mochaHooks("testRedisCluster()", "startRedisCluster()");
  before("a Redis Cluster", async function () {
    // Long enough to install the package.
    this.timeout(400_000);
    try {
      open = await startRedisCluster();
    } catch (error) {
      if (!(error instanceof NoServerError) || process.env.CI === "true") throw error;
      process.stderr.write(`skipped: ${error.message}\n`);
      this.skip();
    }
  });
  after("end the Redis Cluster", async function () {
    this.timeout(60_000);
    await open?.stop();
    open = undefined;
  });
  return {
    get cluster() {
      if (open === undefined) throw new Error("the cluster exists only inside of tests and hooks");
      return open;
    },
  };
}
