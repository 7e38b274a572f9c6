import { testRedisCluster } from "@svc/dev-services";
import { createRedis, type RedisConnection } from "@svc/redis";
import { rejection, until } from "@svc/test-support";
import { expect } from "chai";
import { Cluster } from "ioredis";
import { slotOf } from "../src/slot.ts";

const check = (redis: RedisConnection) => redis.readiness().check(AbortSignal.timeout(15_000));

describe("createRedis with the caller's cluster client", function () {
  this.timeout(60_000);
  const redis = testRedisCluster();
  // One key on each node, in the order of the nodes.
  const keys = ["b", "c", "a"].map((tag) => `{${tag}}key`);
  let client: Cluster;
  beforeEach(() => {
    client = new Cluster([...redis.cluster.seeds], { keyPrefix: "c:" });
  });
  afterEach(() => client.disconnect());

  it("computes the same slot for a key as the server", async () => {
    await using connection = createRedis({ cluster: redis.cluster.seeds, commandTimeoutMs: 15_000 });
    for (const key of ["123456789", "{user1000}.following", "foo{}{bar}", "a{b}{c}", "{open", "é{ü}", ""]) {
      expect(slotOf(key), key).to.equal(await connection.call("cluster", "keyslot", key));
    }
    expect(keys.map((key) => Math.floor(slotOf(key) / 5462))).to.deep.equal([0, 1, 2]);
  });

  it("reads and writes on all nodes, and rejects a command with keys in several slots (RDY-16)", async () => {
    await using connection = createRedis({ client, keyPrefix: "p:", commandTimeoutMs: 15_000 });
    for (const key of keys) await connection.call("set", key, "1");
    expect(await client.get(`p:${keys[0]}`)).to.equal("1");
    expect(await connection.mget("{a}key", "{a}other")).to.deep.equal(["1", null]);
    expect(await rejection(connection.mget(...keys))).to.include({ reply: "CROSSSLOT" });
    expect(connection.isCluster).to.equal(true);
    expect(await check(connection)).to.deep.include({ healthy: true, detail: "connected" });
  });

  it("runs commands on the other nodes while one node hangs (REV-7, REV-8)", async () => {
    await using connection = createRedis({ client, commandTimeoutMs: 3000, readinessTimeoutMs: 15_000 });
    await until("it is connected", async () => {
      const set = await Promise.allSettled(keys.map((key) => connection.call("set", key, "1")));
      return set.every(({ status }) => status === "fulfilled");
    });
    const [hung = "", ...others] = keys;
    const [node] = redis.cluster.nodes;
    node?.pause();
    try {
      const reasons: unknown[] = [];
      for (let round = 0; round < 3; round++) {
        reasons.push((await rejection(connection.exists(hung)))["reason"]);
        for (const key of others) expect(await connection.exists(key)).to.equal(1);
      }
      expect(reasons).to.deep.equal(["timeout", "breaker", "breaker"]);
      expect((await check(connection)).detail).to.match(/^1 of 3 nodes not answering /);
    } finally {
      node?.resume();
    }
    await until("a probe succeeds", () => connection.state === "closed");
  });
});
