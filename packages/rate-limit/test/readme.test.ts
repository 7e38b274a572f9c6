import { testRedis } from "@svc/dev-services";
import { runSample, until } from "@svc/test-support";
import { expect } from "chai";

const readme = new URL("../README.md", import.meta.url);

describe("README of @svc/rate-limit", function () {
  this.timeout(60_000);
  const redis = testRedis();

  it("has a sample that limits a service, and single routes with their own limits", async () => {
    await using sample = await runSample(readme, 0);
    const url = await sample.url;
    const remaining = async (path: string, method = "GET"): Promise<readonly [number, string | null]> => {
      const { status, headers } = await fetch(url + path, { method });
      return [status, headers.get("ratelimit-remaining")];
    };
    expect(await remaining("/items")).to.deep.equal([200, "99"]);
    const logins = [];
    for (let sent = 0; sent < 6; sent++) logins.push(await remaining("/login", "POST"));
    expect(logins.map(([status]) => status)).to.deep.equal([200, 200, 200, 200, 200, 429]);
    const [, left] = await remaining("/export");
    expect(Number(left)).to.be.within(79, 80);
  });

  it("has a sample that counts in Redis and is ready", async () => {
    await using sample = await runSample(readme, 1, { replace: { "redis://127.0.0.1:6379": redis.url } });
    const url = await sample.url;
    await until("the store answers", async () => {
      const { healthy, detail } = (await (await fetch(`${url}/ready`)).json()) as Record<string, unknown>;
      return healthy === true && detail === "rate limits are enforced";
    });
    expect((await fetch(`${url}/items`)).headers.get("ratelimit-limit")).to.equal("100");
  });
});
