import { testRedisCluster } from "@svc/dev-services";
import { createRedisTokenStore, type RedisLike } from "@svc/token-store/redis";
import { tokenStoreCases } from "@svc/token-store/testing";
import { expect } from "chai";
import { Cluster } from "ioredis";
import { again, presented } from "./support/presentations.ts";

describe("createRedisTokenStore on a Redis Cluster", function () {
  this.timeout(60_000);
  const redis = testRedisCluster();
  let cluster: Cluster;
  let single: Cluster;

  before(async () => {
    cluster = new Cluster([...redis.cluster.seeds], { enableAutoPipelining: true });
    single = new Cluster([...redis.cluster.seeds]);
    await Promise.all([cluster.ping(), single.ping()]);
  });
  after(() => {
    cluster?.disconnect();
    single?.disconnect();
  });

  it("detects a cluster behind a client that does not report it, and then sends keys of one slot per command (REF-19)", async () => {
    /** Number of keys of each command, except of EVAL, which only follows an EVALSHA of an unknown script. */
    let sent: number[] = [];
    const silent: RedisLike = {
      eval: (script, count, ...rest) => single.eval(script, count, ...rest),
      evalsha: (sha, count, ...rest) => {
        sent.push(Number(count));
        return single.evalsha(sha, count, ...rest);
      },
      mget: (...keys) => {
        sent.push(keys.length);
        return single.mget(...keys);
      },
    };
    const token = presented();
    const first = createRedisTokenStore({ redis: silent, timeoutMs: 15_000 });
    expect(await first.isRevoked(token)).to.equal(false);
    // Redis rejects only the first command.
    expect(sent).to.deep.equal([3, 1, 1, 1]);
    sent = [];
    expect(await first.isRevoked(token)).to.equal(false);
    expect(sent).to.deep.equal([1, 1, 1]);
    expect(await first.rotate(token)).to.equal("rotated");
    const second = createRedisTokenStore({ redis: silent, timeoutMs: 15_000 });
    sent = [];
    expect(await second.rotate(again(token))).to.equal("raced");
    expect(sent).to.deep.equal([4, 1, 1, 2]);
    sent = [];
    expect(await second.rotate(token)).to.equal("rotated");
    expect(sent).to.deep.equal([1, 1, 2]);
    await first.revokeSubject(token.sub, token.signedInAt + 1, 60);
    expect(await second.isRevoked(token)).to.equal(true);
  });

  it("loads its scripts again after the nodes lost them (REF-4, REF-7)", async () => {
    const store = createRedisTokenStore({ redis: cluster, timeoutMs: 15_000 });
    for (let round = 0; round < 10; round++) {
      await Promise.all(cluster.nodes("master").map((node) => node.script("FLUSH")));
      const token = presented();
      const results = await Promise.all(Array.from({ length: 8 }, () => store.rotate(again(token))));
      expect(results.filter((result) => result === "rotated")).to.have.lengthOf(1);
      expect(results.filter((result) => result === "raced")).to.have.lengthOf(7);
    }
    expect(await store.readiness().check(AbortSignal.timeout(15_000))).to.deep.equal({
      healthy: true,
      detail: "answering",
    });
  });

  describe("in the token store suite", () => {
    const create = () => createRedisTokenStore({ redis: cluster, timeoutMs: 15_000 });
    const createReplica = () => createRedisTokenStore({ redis: single, timeoutMs: 15_000 });
    for (const { name, run } of tokenStoreCases({ create, createReplica })) it(name, run);
  });
});
