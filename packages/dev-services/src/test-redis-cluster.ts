import { mochaHooks } from "./mocha-hooks.ts";
import { type RedisCluster, startRedisCluster } from "./redis-cluster.ts";
import { testProgram } from "./test-program.ts";

/** The cluster of one describe. Its tests may stop, kill and start it. */
export interface TestRedisCluster {
  /** Available only inside of tests and hooks. */
  readonly cluster: RedisCluster;
}

/**
 * Gives a `describe` a Redis Cluster of its own with three nodes. Without Redis the describe is skipped as by
 * {@link testProgram}.
 */
export function testRedisCluster(): TestRedisCluster {
  testProgram("redis");
  let open: RedisCluster | undefined;
  const { before, after } = mochaHooks("testRedisCluster()", "startRedisCluster()");
  before("a Redis Cluster", async function () {
    this.timeout(60_000);
    open = await startRedisCluster();
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
