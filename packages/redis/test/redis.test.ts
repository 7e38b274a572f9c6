import { type RedisServer, startRedis, testProgram } from "@svc/dev-services";
import {
  createRedis,
  fromNodeRedis,
  type RedisClient,
  RedisCommandError,
  type RedisOptions,
  RedisUnavailableError,
} from "@svc/redis";
import { collectingLogger, rejection, until } from "@svc/test-support";
import { expect } from "chai";
import { Redis, type RedisOptions as IoredisOptions } from "ioredis";
import { createClient } from "redis";

/** Deadlines for a Redis that replies or fails immediately, longer than any pause of a busy machine. */
const PATIENT = { commandTimeoutMs: 15_000, connectTimeoutMs: 15_000, readinessTimeoutMs: 15_000 } as const;

describe("createRedis", function () {
  this.timeout(60_000);
  testProgram("redis");
  let server: RedisServer;
  const clients: Redis[] = [];
  before(async () => {
    server = await startRedis();
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.disconnect();
  });
  after(() => server.stop());

  function clientOf(options: Pick<IoredisOptions, "db" | "keyPrefix" | "lazyConnect"> = {}): Redis {
    const client = new Redis(server.url, options);
    clients.push(client);
    return client;
  }
  const nodeClients: { isOpen: boolean; destroy(): void }[] = [];
  afterEach(() => {
    for (const client of nodeClients.splice(0)) if (client.isOpen) client.destroy();
  });
  function nodeClientOf(RESP: 2 | 3 = 2): RedisClient {
    const client = createClient({ url: server.url, RESP });
    nodeClients.push(client);
    return fromNodeRedis(client);
  }
  const check = (redis: ReturnType<typeof createRedis>) =>
    redis.readiness().check(AbortSignal.timeout(15_000));

  const sources: readonly (readonly [string, () => Partial<RedisOptions>])[] = [
    ["a URL", () => ({ url: server.url })],
    ["the caller's client", () => ({ client: clientOf() })],
    [
      "the caller's client that waits for its first command",
      () => ({ client: clientOf({ lazyConnect: true }) }),
    ],
    ["a client of node-redis", () => ({ client: nodeClientOf() })],
    ["a client of node-redis that speaks RESP3", () => ({ client: nodeClientOf(3) })],
  ];
  for (const [what, source] of sources) {
    describe(`with ${what}`, () => {
      it("runs commands with its key prefix, rejects blocking commands, and is ready (RDY-16)", async () => {
        await using redis = createRedis({ ...source(), ...PATIENT, keyPrefix: "p:" });
        expect(await redis.call("set", "greeting", "hello")).to.equal("OK");
        expect(await redis.mget("greeting", "missing")).to.deep.equal(["hello", null]);
        expect(await redis.eval("return KEYS[1] .. ARGV[1]", 1, "k", "!")).to.equal("p:k!");
        expect(await redis.exists("greeting")).to.equal(1);
        expect(await check(redis)).to.deep.include({ healthy: true, detail: "connected" });
        const error = await rejection(redis.call("blpop", "list", 0));
        expect(error).to.be.instanceOf(RedisCommandError).and.include({ code: "ERR_SVC_REDIS_COMMAND" });
      });

      it("rejects at the deadline while Redis hangs, then immediately, and recovers when Redis responds (REV-7, REV-8)", async () => {
        const events: string[] = [];
        const logger = collectingLogger();
        await using redis = createRedis({
          ...source(),
          connectTimeoutMs: 15_000,
          commandTimeoutMs: 500,
          breakerCoolDownMs: 100,
          logger,
          onEvent: (event) => events.push(event),
        });
        await until("it is connected", () => redis.call("ping").catch(() => undefined));
        events.length = 0;
        server.pause();
        try {
          const first = await rejection(redis.call("ping"));
          expect(first).to.be.instanceOf(RedisUnavailableError);
          expect(first).to.include({ code: "ERR_SVC_REDIS_UNAVAILABLE", reason: "timeout", ambiguous: true });
          expect(await rejection(redis.call("ping"))).to.include({ reason: "breaker", ambiguous: false });
          expect(await check(redis)).to.deep.include({ healthy: false });
        } finally {
          server.resume();
        }
        // Retry: on a slow machine a ping may exceed the short deadline.
        expect(await until("an answer", () => redis.call("ping").catch(() => undefined))).to.equal("PONG");
        expect(events.slice(0, 2)).to.deep.equal(["unavailable", "unavailable"]);
        expect(logger.lines.map(({ message }) => message)).to.include.members([
          "Redis is not available",
          "Redis answers again",
        ]);
        expect(logger.lines[0]).to.deep.include({ level: "warn" });
      });

      it("rejects immediately while Redis is down, and connects when Redis is up again (REV-8)", async () => {
        await using redis = createRedis({ ...source(), ...PATIENT });
        await redis.call("ping");
        await server.kill();
        try {
          await until("the loss is noticed", async () => {
            const error = await rejection(redis.call("ping"));
            return error["reason"] === "disconnected";
          });
          expect((await check(redis)).detail).to.match(/^not answering \(ECONN/);
        } finally {
          await server.restart();
        }
        await until("it is connected", () => redis.call("ping").catch(() => undefined));
        expect(redis.state).to.equal("closed");
      });
    });
  }

  it("leaves the caller's client open, unless closeClient is set", async () => {
    const client = clientOf();
    const first = createRedis({ client, ...PATIENT });
    expect(await first.call("ping")).to.equal("PONG");
    const listeners = client.listenerCount("error");
    await first.stop();
    expect(client.listenerCount("error")).to.equal(listeners - 1);
    expect(await rejection(first.call("ping"))).to.include({
      message: "Redis is not available: the connection was stopped",
    });
    expect(await client.ping()).to.equal("PONG");
    const second = createRedis({ client, closeClient: true, ...PATIENT });
    expect(await second.call("ping")).to.equal("PONG");
    await second.stop();
    await until("the client is closed", () => client.status === "end");
  });

  it("adds its prefix to the prefix of the caller's client", async () => {
    const client = clientOf({ keyPrefix: "c:" });
    await using redis = createRedis({ client, keyPrefix: "p:", ...PATIENT });
    await redis.call("set", "both", "1");
    expect(await clientOf().get("c:p:both")).to.equal("1");
  });

  it("rejects immediately on a client that the caller has closed", async () => {
    const client = clientOf();
    await client.ping();
    client.disconnect();
    await until("it is closed", () => client.status === "end");
    await using redis = createRedis({ client, ...PATIENT });
    expect(await rejection(redis.call("ping"))).to.include({ reason: "disconnected" });
  });

  it("sends no command over the caller's client after Redis rejected the client's database", async () => {
    const client = clientOf({ db: 77_777, lazyConnect: true });
    await using redis = createRedis({ client, ...PATIENT });
    expect(await rejection(redis.call("set", "elsewhere", "1"))).to.include({ reason: "disconnected" });
    expect(await clientOf().exists("elsewhere")).to.equal(0);
    expect(await check(redis)).to.deep.include({
      healthy: false,
      detail: "not answering (no such database)",
    });
  });
});

describe("options of createRedis", () => {
  const message = (options: object): string => {
    try {
      void createRedis(options as RedisOptions).stop();
    } catch (error) {
      return String(error);
    }
    return "";
  };

  it("are rejected if they are invalid, without showing a secret", () => {
    const url = "redis://127.0.0.1:1";
    const client = { call() {}, on() {}, off() {}, connect() {}, disconnect() {}, status: "geheim" };
    for (const [options, expected] of [
      [{}, "url: is required unless cluster, connection or client is set"],
      [{ url, client }, "client: cannot be combined with url"],
      [{ client: { call: "geheim" } }, "client: must be an ioredis client"],
      [{ url, closeClient: 1 }, "closeClient: must be"],
      [{ url: "redis://:geheim@host/nonsense" }, "url: is not a valid Redis URL"],
      [{ connection: { password: "geheim", commandTimeout: 5 } }, "the connection sets these options itself"],
    ] as const) {
      const text = message(options);
      expect(text, JSON.stringify(options)).to.contain(expected).and.contain("createRedis()");
      expect(text).not.to.contain("geheim");
    }
  });
});
