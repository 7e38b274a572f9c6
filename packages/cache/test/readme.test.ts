import { testRedis } from "@svc/dev-services";
import { runSample } from "@svc/test-support";
import { expect } from "chai";

const readme = new URL("../README.md", import.meta.url);
const sampleUrl = "redis://127.0.0.1:6379";

describe("README of @svc/cache", function () {
  this.timeout(60_000);
  const redis = testRedis();

  it("has a sample service that returns values from Redis and is ready (RDY-16)", async () => {
    await using sample = await runSample(readme, 0, { replace: { [sampleUrl]: redis.url } });
    const url = await sample.url;
    const first = await (await fetch(`${url}/price/1`)).text();
    expect(JSON.parse(first)).to.include({ cents: 4200 });
    expect(await (await fetch(`${url}/price/1`)).text()).to.equal(first);
    expect(await (await fetch(`${url}/ready`)).json()).to.deep.equal({ healthy: true, detail: "connected" });
  });

  it("has a sample that sends commands to Redis", async () => {
    await using sample = await runSample(readme, 1, { replace: { [sampleUrl]: redis.url } });
    const { stdout, stderr, code } = await sample.ended;
    expect(code, stderr).to.equal(0);
    expect(stdout).to.equal("OK\nhello!\n");
  });

  it("has a sample that passes its own Redis client", async () => {
    await using sample = await runSample(readme, 2, { replace: { [sampleUrl]: redis.url } });
    const { stdout, stderr, code } = await sample.ended;
    expect(code, stderr).to.equal(0);
    expect(stdout).to.equal("42\n");
  });
});
