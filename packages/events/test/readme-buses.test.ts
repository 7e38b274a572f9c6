import { type RedisServer, startRedis, testNats } from "@svc/dev-services";
import { runSample } from "@svc/test-support";
import { expect } from "chai";

const readme = new URL("../README-buses.md", import.meta.url);

describe("README of the event buses", function () {
  this.timeout(60_000);
  const nats = testNats();
  let redis: RedisServer;

  before(async () => {
    redis = await startRedis();
  });

  after(() => redis.stop());

  async function printed(n: number, replace: Readonly<Record<string, string>>): Promise<string> {
    await using sample = await runSample(readme, n, { replace });
    const { stdout, stderr, code } = await sample.ended;
    expect(code, stderr).to.equal(0);
    return stdout;
  }

  it("EVT-7 shows an event over Redis Streams, and one over NATS JetStream", async () => {
    const overRedis = printed(0, { "redis://localhost:6379": redis.url });
    const overNats = printed(1, { "nats://localhost:4222": nats.url });
    expect(await Promise.all([overRedis, overNats])).to.deep.equal([
      "e-1 alice { amount: 12 } 1\n",
      "e-1 alice { amount: 12 } 1\n",
    ]);
  });

  it("EVT-7 shows the suite for adapters", async () => {
    expect(await printed(2, { "redis://localhost:6379": redis.url })).to.equal(
      "EVT-7 gives every group all messages\nEVT-7 carries 200 KB\n",
    );
  });
});
