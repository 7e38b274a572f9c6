import { testRedis } from "@svc/dev-services";
import { runSample } from "@svc/test-support";
import { expect } from "chai";

const readme = new URL("../README.md", import.meta.url);
const sampleUrl = "redis://127.0.0.1:6379";

describe("a sample in the README of @svc/redis", function () {
  this.timeout(60_000);
  const redis = testRedis();

  for (const [index, what, expected] of [
    [0, "commands", "OK\nhello!\n"],
    [1, "the caller's client, which stays open", "PONG\nPONG\n"],
    [2, "a client of node-redis, which stays open", "OK\nhello\n"],
  ] as const) {
    it(`prints its documented output: ${what}`, async () => {
      await using sample = await runSample(readme, index, { replace: { [sampleUrl]: redis.url } });
      const { stdout, stderr, code } = await sample.ended;
      expect(code, stderr).to.equal(0);
      expect(stdout).to.equal(expected);
    });
  }
});
