import { type Cache, createCache } from "@svc/cache";
import { testRedisCluster } from "@svc/dev-services";
import { rejection, until } from "@svc/test-support";
import { expect } from "chai";
import { stallUntilReplied } from "./support/stall.ts";
import { PATIENT, warmCache } from "./support/warm-cache.ts";

const ready = (cache: Cache) => cache.readiness().check(AbortSignal.timeout(5000));

describe("createCache with a Redis Cluster", function () {
  this.timeout(60_000);
  const redis = testRedisCluster();
  // One key on each node, in the order of the nodes.
  const keys = ["b", "c", "a"].map((tag) => `{${tag}}key`);

  it("reads and writes on all nodes, runs scripts on keys with the same hash tag, and reports that it is connected (RDY-16)", async () => {
    await using cache = createCache({
      cluster: redis.cluster.seeds.slice(0, 1),
      keyPrefix: "p:",
      ...PATIENT,
    });
    const all = Array.from({ length: 300 }, (_, index) => `key-${index}`);
    await Promise.all(all.map((key, index) => cache.set(key, index, 60)));
    expect(await Promise.all(all.map((key) => cache.get(key)))).to.deep.equal([...all.keys()]);
    const script = "redis.call('set', KEYS[1], ARGV[1]) return redis.call('exists', KEYS[1], KEYS[2])";
    expect(await cache.redis.eval(script, 2, "{session}:f", "{session}:j", "1")).to.equal(1);
    expect(await cache.redis.exists("{session}:f", "{session}:j")).to.equal(1);
    expect(await cache.redis.mget("{session}:f", "{session}:j")).to.deep.equal(["1", null]);
    const crossed = await rejection(cache.redis.mget(...keys));
    expect(crossed).to.include({ code: "ERR_SVC_CACHE_COMMAND", reply: "CROSSSLOT" });
    expect(cache.redis.isCluster).to.equal(true);
    expect(await cache.getOrSet("filled", 60, () => "once")).to.equal("once");
    expect(await ready(cache)).to.deep.include({ healthy: true, detail: "connected" });
  });

  it("still uses the other nodes while one node hangs, because each node has its own circuit breaker (REV-7, REV-8)", async () => {
    // This timeout is long enough for the other nodes to reply even on a busy machine.
    const times = { commandTimeoutMs: 3000, readinessTimeoutMs: PATIENT.readinessTimeoutMs };
    await using cache = await warmCache({ cluster: redis.cluster.seeds, ...times }, keys);
    const [hung = "", ...others] = keys;
    const [node] = redis.cluster.nodes;
    node?.pause();
    try {
      const reasons: unknown[] = [];
      for (let round = 0; round < 6; round++) {
        reasons.push((await rejection(cache.redis.exists(hung))).reason);
        for (const key of others) expect(await cache.redis.exists(key)).to.equal(1);
      }
      expect(reasons).to.deep.equal(["timeout", "breaker", "breaker", "breaker", "breaker", "breaker"]);
      expect(cache.state).to.equal("open");
      expect(await ready(cache)).to.deep.include({ healthy: false });
      expect((await ready(cache)).detail).to.match(/^1 of 3 nodes not answering /);
    } finally {
      node?.resume();
    }
    const answers = async (): Promise<boolean> =>
      (await cache.redis.exists(hung).catch(() => 0)) === 1 && (await ready(cache)).healthy;
    await until("the node answers", answers);
  });

  it("does not count an event-loop stall in this process as a node failure", async () => {
    await using cache = await warmCache(
      { cluster: redis.cluster.seeds, commandTimeoutMs: 1500, breakerFailures: 1 },
      keys,
    );
    const { nodes } = redis.cluster;
    // The nodes are paused until the stall begins, so that their replies arrive during the stall.
    for (const node of nodes) node.pause();
    const asked = keys.map((key) => cache.redis.exists(key));
    for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
    for (const node of nodes) node.resume();
    stallUntilReplied(nodes, 1700);
    expect(await Promise.all(asked)).to.deep.equal([1, 1, 1]);
    expect(cache.state).to.equal("closed");
  });

  it("uses a node again after it was killed and restarted (REV-8)", async () => {
    await using cache = await warmCache({ cluster: redis.cluster.seeds }, keys);
    const node = redis.cluster.nodes[2];
    await node?.kill();
    // The other nodes redirect to the killed node until they detect its failure.
    for (let times = 0; times < 5; times++) {
      const error = await rejection(cache.redis.exists(keys[2] ?? ""));
      expect(error).to.include({ code: "ERR_SVC_CACHE_UNAVAILABLE" });
      expect(error.message).not.to.contain(String(node?.port));
    }
    await node?.restart();
    const answers = async (): Promise<boolean> =>
      cache.set(keys[2] ?? "", 2, 60).then(
        () => true,
        () => false,
      );
    await until("the node answers", answers);
    expect(await cache.get(keys[2] ?? "")).to.equal(2);
    await until("it is ready", async () => (await ready(cache)).healthy);
  });

  it("finds the cluster through one seed when another seed's name does not resolve", async () => {
    const cluster = [{ host: "nowhere.invalid" }, ...redis.cluster.seeds.slice(0, 1)];
    await using cache = createCache({ cluster, ...PATIENT });
    await cache.set(keys[2] ?? "", 3, 60);
    expect(await cache.get(keys[2] ?? "")).to.equal(3);
  });

  it("reports WRONGPASS when the nodes reject the password (RDY-16)", async () => {
    const connection = { username: "somebody", password: "geheim" };
    await using cache = createCache({ cluster: redis.cluster.seeds, connection });
    await rejection(cache.redis.exists("key"));
    await until("it is known", async () => (await ready(cache)).detail === "not answering (WRONGPASS)");
  });

  it("rejects a key on another node when `url` names a single node, and shows no address", async () => {
    const [node] = redis.cluster.nodes;
    await using cache = createCache({ url: node?.url, ...PATIENT });
    const error = await rejection(cache.redis.exists(keys[2] ?? ""));
    expect(error).to.include({ code: "ERR_SVC_CACHE_UNAVAILABLE", reply: "MOVED", ambiguous: false });
    expect(error.message).not.to.contain("127.0.0.1");
  });

  it("can be stopped when no node of the cluster was ever reachable", async () => {
    const cache = createCache({ cluster: [{ host: "127.0.0.1", port: 1 }] });
    expect(await rejection(cache.redis.exists("key"))).to.include({ code: "ERR_SVC_CACHE_UNAVAILABLE" });
    expect((await ready(cache)).healthy).to.equal(false);
    await cache.stop();
  });
});
