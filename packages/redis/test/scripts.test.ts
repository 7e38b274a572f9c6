import { testRedis } from "@svc/dev-services";
import { createRedis, RedisUnavailableError } from "@svc/redis";
import { isAmbiguous, replyWord, runScript, script } from "@svc/redis/scripts";
import { rejection } from "@svc/test-support";
import { expect } from "chai";
import { Redis } from "ioredis";

describe("runScript", function () {
  this.timeout(60_000);
  const server = testRedis();

  it("loads a script that Redis does not know, over a guarded connection and over ioredis", async () => {
    const echo = script("return {KEYS[1], ARGV[1], ARGV[2]}");
    await using redis = createRedis({ url: server.url, commandTimeoutMs: 15_000 });
    const client = new Redis(server.url);
    try {
      for (const each of [redis, client]) {
        await client.script("FLUSH");
        for (let round = 0; round < 2; round++) {
          expect(await runScript(each, echo, ["k"], ["a", 1])).to.deep.equal(["k", "a", "1"]);
        }
      }
      const wrong = script("return redis.call('get', KEYS[1], 'too', 'many')");
      expect(replyWord(await rejection(runScript(client, wrong, ["k"], [])))).to.equal("ERR");
    } finally {
      client.disconnect();
    }
  });
});

describe("command errors", () => {
  const reply = (message: string): Error => Object.assign(new Error(message), { name: "ReplyError" });

  it("are identified by the first word of the reply, even after an error inside a script", () => {
    expect(replyWord(reply("NOSCRIPT No matching script"))).to.equal("NOSCRIPT");
    expect(replyWord(reply("ERR Error running script: @user_script:2: -OOM command not allowed"))).to.equal(
      "OOM",
    );
    expect(replyWord(reply("lower case"))).to.equal("ERR");
    expect(replyWord(new RedisUnavailableError("refused", 1000, "READONLY"))).to.equal("READONLY");
    expect(replyWord(new Error("Connection is closed."))).to.equal(undefined);
  });

  it("are ambiguous when Redis may have executed the command", () => {
    for (const [error, expected] of [
      [new RedisUnavailableError("timeout", 1000), true],
      [new RedisUnavailableError("disconnected", 1000), false],
      [new Error("Connection is closed."), true],
      [new Error("Stream isn't writeable and enableOfflineQueue options is false"), false],
      [reply("READONLY"), false],
      ["no error", false],
    ] as const) {
      expect(isAmbiguous(error)).to.equal(expected);
    }
  });
});
