import { testRedis } from "@svc/dev-services";
import { type CommandArgument, createRedis, type RedisClient, type RedisConnection } from "@svc/redis";
import { rejection } from "@svc/test-support";
import { expect } from "chai";

describe("the message of a rejected command", function () {
  this.timeout(60_000);
  const server = testRedis();
  let redis: RedisConnection;
  before(() => void (redis = createRedis({ url: server.url, keyPrefix: "p:", commandTimeoutMs: 15_000 })));
  after(() => redis.stop());
  const message = async (command: string, ...args: readonly CommandArgument[]): Promise<string> =>
    (await rejection(redis.call(command, ...args))).message;

  it("contains Redis's explanation", async () => {
    await redis.call("set", "text", "x");
    expect(await message("lpush", "text", "y")).to.equal(
      "LPUSH: WRONGTYPE Operation against a key holding the wrong kind of value",
    );
    expect(await message("incr", "text")).to.equal("INCR: ERR value is not an integer or out of range");
    expect(await message("append", "text")).to.equal("APPEND: ERR wrong number of arguments for ...");
    expect(await message("evalsha", "0".repeat(40), 0)).to.equal("EVALSHA: NOSCRIPT ...");
  });

  it("contains no key and no argument, even one with quotes", async () => {
    const reading = ["group", "secret group", "me", "streams", "it's secret", ">"];
    expect(await message("xreadgroup", ...reading)).to.equal("XREADGROUP: NOGROUP No such key ...");
    await redis.call("xadd", "stream", "*", "a", "b");
    expect(await message("xpending", "stream", "secret' group")).to.equal(
      "XPENDING: NOGROUP No such key ...",
    );
    expect(await message("object", "secret")).to.equal("OBJECT: ERR unknown subcommand ...");
    expect(await message("nonsense", "secret")).to.equal("NONSENSE: ERR unknown command ...");
    expect(await message("config", "set", "secret", "secret")).to.equal("CONFIG: ERR Unknown option ...");
    expect(await message("function", "list", "secret")).to.equal("FUNCTION: ERR Unknown argument ...");
    expect(await message("acl", "setuser", "someone", "secret")).to.equal(
      "ACL: ERR Error in ACL SETUSER modifier ...",
    );
  });

  it("contains, for a script, the first word and the line, but no text that the script composes", async () => {
    const composed = "return redis.error_reply('LIMIT for '..KEYS[1])";
    expect(await message("eval", composed, 1, "secret")).to.equal("EVAL: LIMIT ...");
    expect(await message("eval", "\nerror(ARGV[1])", 0, "secret")).to.equal("EVAL: ERR ... (user_script:2)");
    expect(await message("eval", "return redis.call('get', 'x', KEYS[1])", 1, "secret")).to.equal(
      "EVAL: ERR ... (user_script:1)",
    );
    expect(await message("script", "load", "return 'secret")).to.equal(
      "SCRIPT: ERR Error compiling script ... (user_script:1)",
    );
  });

  // Replies of other versions and of modules, from a client that does not say which command failed.
  for (const [reply, expected] of [
    ["ERR unknown command `nonsense`, with args beginning with: `secret`, ", "command: ERR ..."],
    ["NOPERM User secret has no permissions to run the 'get' command", "command: NOPERM ..."],
    ["Syntax error at offset 3 near secret", "command: ERR ..."],
    ["secret: no such index", "command: ERR ..."],
    ["ERR", "command: ERR"],
  ] as const) {
    it(`of an unknown command is "${expected}" for the reply "${reply}"`, async () => {
      const client: RedisClient = {
        status: "ready",
        call: () => Promise.reject(Object.assign(new Error(reply), { name: "ReplyError" })),
        on: () => undefined,
        off: () => undefined,
        connect: () => Promise.resolve(),
        disconnect: () => undefined,
      };
      await using other = createRedis({ client });
      expect((await rejection(other.call("get", "secret"))).message).to.equal(expected);
    });
  }

  it("names no user who lacks a permission", async () => {
    const user = `secret${process.pid}`;
    await redis.call("acl", "setuser", user, "on", ">pw", "~*", "+@all", "-get");
    try {
      const url = new URL(server.url);
      url.username = user;
      url.password = "pw";
      await using other = createRedis({ url: url.href, commandTimeoutMs: 15_000 });
      expect((await rejection(other.call("get", "key"))).message).to.equal("GET: NOPERM ...");
    } finally {
      await redis.call("acl", "deluser", user);
    }
  });
});
