import { randomBytes } from "node:crypto";
import { maskUrl } from "./attempts.ts";
import { fromEnvironment } from "./environment.ts";
import { fixtureOf, testProgram } from "./mocha.ts";
import { joinRedis } from "./redis.ts";
import { redisCommands } from "./redis-command.ts";
import { sharedServer } from "./shared-servers.ts";

/** The share of a Redis server that one `describe` uses. */
export interface TestRedis {
  /**
   * URL of the server; if the test run started the server, the URL of a database that only this share uses. Available
   * only in tests and hooks.
   */
  readonly url: string;
  /**
   * Prefix that tests must put before all keys. It is `""` if a test run started the server. On the server named by
   * `SVC_TEST_REDIS_URL`, only keys with this prefix are removed at the end.
   */
  readonly keyPrefix: string;
}

/** A share of a Redis server, opened by {@link openTestRedis}. Disposing removes its keys. */
export interface OpenTestRedis extends TestRedis, AsyncDisposable {}

/**
 * Opens a share of a real Redis server: the one named by `SVC_TEST_REDIS_URL`, else a server that all processes in a
 * test run share and that stops after the last of them.
 *
 * @throws NoServerError if Redis is not installed; Error if the server named by the variable does not respond
 */
export async function openTestRedis(): Promise<OpenTestRedis> {
  const given = fromEnvironment("SVC_TEST_REDIS_URL");
  if (given !== undefined) return prefixed(given);
  const server = await sharedServer("redis.json", joinRedis);
  const [answer = ":0"] = await redisCommands(server, [["INCR", "databases"]]);
  const number = ((Number(answer.slice(1)) - 1) % 1023) + 1;
  const url = `${server}/${number}`;
  const flush = async (): Promise<void> => void (await redisCommands(url, [["FLUSHDB"]]));
  await flush();
  return { url, keyPrefix: "", [Symbol.asyncDispose]: flush };
}

async function prefixed(url: string): Promise<OpenTestRedis> {
  try {
    await redisCommands(url, [["PING"]]);
  } catch (error) {
    throw new Error(
      `SVC_TEST_REDIS_URL names ${maskUrl(url)}, which does not answer within 5 s ` +
        `(${(error as NodeJS.ErrnoException).code ?? "no answer"}). ` +
        `Start that server, or unset SVC_TEST_REDIS_URL to have one started.`,
    );
  }
  const keyPrefix = `svc-test-${randomBytes(6).toString("hex")}:`;
  const script =
    "local keys = redis.call('KEYS', ARGV[1] .. '*') for _, key in ipairs(keys) do redis.call('DEL', key) end return #keys";
  const clear = async (): Promise<void> =>
    void (await redisCommands(url, [["EVAL", script, "0", keyPrefix]], 30_000));
  return { url, keyPrefix, [Symbol.asyncDispose]: clear };
}

/**
 * Provides a `describe` with its own share of a real Redis server. Without Redis the `describe` is skipped, as by
 * {@link testProgram}.
 */
export function testRedis(): TestRedis {
  if (fromEnvironment("SVC_TEST_REDIS_URL") === undefined) testProgram("redis");
  return fixtureOf(["url", "keyPrefix"], {
    what: "the Redis",
    names: ["testRedis()", "openTestRedis()"],
    open: openTestRedis,
    close: (redis) => redis[Symbol.asyncDispose](),
  });
}
