import { openTestRedis, testRedis } from "@svc/dev-services";
import { expect } from "chai";
import { redisCommands } from "../src/redis-command.ts";

describe("testRedis", () => {
  const redis = testRedis();

  it("gives each caller its own keys, and removes only these at the end", async () => {
    await redisCommands(redis.url, [["SET", `${redis.keyPrefix}key`, "mine"]]);
    const other = await openTestRedis();
    expect(`${other.url}${other.keyPrefix}`).not.to.equal(`${redis.url}${redis.keyPrefix}`);
    expect(await redisCommands(other.url, [["EXISTS", `${other.keyPrefix}key`]])).to.deep.equal([":0"]);
    await redisCommands(other.url, [["SET", `${other.keyPrefix}key`, "other"]]);
    await other[Symbol.asyncDispose]();
    expect(await redisCommands(other.url, [["EXISTS", `${other.keyPrefix}key`]])).to.deep.equal([":0"]);
    expect(await redisCommands(redis.url, [["EXISTS", `${redis.keyPrefix}key`]])).to.deep.equal([":1"]);
  });
});
