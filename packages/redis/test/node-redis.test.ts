import { type RedisServer, startRedis, testProgram } from "@svc/dev-services";
import { ConfigurationError } from "@svc/options";
import {
  createRedis,
  fromNodeRedis,
  type RedisConnection,
  type RedisOptions,
  runScript,
  script,
} from "@svc/redis";
import { rejection, until } from "@svc/test-support";
import { expect } from "chai";
import { createClient, createClientPool, createCluster, createSentinel } from "redis";

const PATIENT = { commandTimeoutMs: 15_000, connectTimeoutMs: 15_000, readinessTimeoutMs: 15_000 } as const;
const EVENTS = ["ready", "error", "reconnecting", "end"] as const;

describe("fromNodeRedis()", function () {
  this.timeout(60_000);
  testProgram("redis");
  let server: RedisServer;
  const clients: { isOpen: boolean; destroy(): void }[] = [];
  before(async () => void (server = await startRedis()));
  afterEach(() => {
    for (const client of clients.splice(0)) if (client.isOpen) client.destroy();
  });
  after(() => server.stop());

  function clientOf(options: Parameters<typeof createClient>[0] = {}) {
    const client = createClient({ url: server.url, ...options });
    clients.push(client);
    return client;
  }
  const on = (client: ReturnType<typeof clientOf>, options: Partial<RedisOptions> = {}): RedisConnection =>
    createRedis({ client: fromNodeRedis(client), ...PATIENT, ...options });

  for (const RESP of [2, 3] as const) {
    it(`returns replies in the form of RESP2, as ioredis does, from a client that speaks RESP${RESP}`, async () => {
      await using own = createRedis({ url: server.url, keyPrefix: "same:", ...PATIENT });
      await using redis = on(clientOf({ RESP }), { keyPrefix: "same:" });
      const commands = [
        ["hset", "hash", "a", 1, "b", Buffer.from("two")],
        ["hkeys", "hash"],
        ["sadd", "set", "x"],
        ["smembers", "set"],
        ["zadd", "sorted", 1.5, "m"],
        ["zscore", "sorted", "m"],
        ["zrange", "sorted", 0, -1, "WITHSCORES"],
        ["get", "missing"],
        ["config", "get", "maxmemory-policy"],
      ] as const;
      for (const [command, ...args] of commands) await own.call(command, ...args);
      for (const [command, ...args] of commands) {
        const [theirs, ours] = [await redis.call(command, ...args), await own.call(command, ...args)];
        const flat = (reply: unknown): unknown => (Array.isArray(reply) ? reply.flat() : reply);
        expect(flat(theirs), command).to.deep.equal(flat(ours));
      }
      // ioredis returns this reply as an object.
      expect(await redis.call("hgetall", "hash")).to.deep.equal(["a", "1", "b", "two"]);
      const { meta } = await redis.readiness().check(AbortSignal.timeout(15_000));
      expect(meta).to.include({ eviction: "noeviction" });
    });
  }

  it("runs scripts, and returns error replies as RedisCommandError with the command's name", async () => {
    await using redis = on(clientOf(), { keyPrefix: "p:" });
    expect(await runScript(redis, script("return KEYS[1]"), ["key"], [])).to.equal("p:key");
    await redis.call("set", "text", "x");
    const wrong = await rejection(redis.call("lpush", "text", "y"));
    expect(wrong).to.include({ code: "ERR_SVC_REDIS_COMMAND", reply: "WRONGTYPE" });
    expect(wrong.message).to.match(/^LPUSH: WRONGTYPE/);
    expect(redis.state).to.equal("closed");
  });

  it("opens a client that is not open yet, and uses an open client", async () => {
    const closed = clientOf();
    await using first = on(closed);
    expect(await first.call("ping")).to.equal("PONG");
    const open = clientOf();
    await open.connect();
    await using second = on(open);
    expect(await second.call("ping")).to.equal("PONG");
  });

  it("on stop(), leaves the client open and with one more error listener, unless closeClient is set", async () => {
    const client = clientOf();
    await client.connect();
    const count = (): number[] => EVENTS.map((event) => client.listenerCount(event));
    const [ready, errors, ...others] = count();
    for (let wrapped = 0; wrapped < 3; wrapped++) {
      const first = on(client);
      expect(await first.call("ping")).to.equal("PONG");
      await first.stop();
      expect(count()).to.deep.equal([ready, Number(errors) + 1, ...others]);
    }
    expect(await client.ping()).to.equal("PONG");
    const second = on(client, { closeClient: true });
    await second.call("ping");
    await second.stop();
    expect(client.isOpen).to.equal(false);
  });

  it("rejects immediately after the caller has closed the client, and after its last attempt to connect", async () => {
    const client = clientOf();
    await using redis = on(client);
    await redis.call("ping");
    client.destroy();
    expect(await rejection(redis.call("ping"))).to.include({ reason: "disconnected" });

    const hopeless = clientOf({ url: "redis://127.0.0.1:1", socket: { reconnectStrategy: false } });
    await using other = on(hopeless);
    expect(await rejection(other.call("ping"))).to.include({ reason: "disconnected" });
    const { detail } = await other.readiness().check(AbortSignal.timeout(15_000));
    expect(detail).to.equal("not answering (ECONNREFUSED)");
  });

  it("reports a wrong password without showing it", async () => {
    await using redis = on(clientOf({ password: "geheim", socket: { reconnectStrategy: false } }));
    const error = await rejection(redis.call("ping"));
    expect(error).to.include({ reason: "disconnected" });
    const check = await redis.readiness().check(AbortSignal.timeout(15_000));
    expect(check).to.include({ healthy: false });
    expect(check.detail).to.match(/^not answering \((?:WRONGPASS|ERR)\)$/);
    expect(JSON.stringify(check)).not.to.contain("geheim");
  });

  it("rejects a command in flight when the connection is lost, and recovers", async () => {
    const client = clientOf();
    await using redis = on(client, { breakerCoolDownMs: 100 });
    await redis.call("ping");
    const other = clientOf();
    await other.connect();
    // While a script has run for longer than this limit in milliseconds, Redis replies to other commands with BUSY.
    await other.configSet("lua-time-limit", "1");
    const blocked = rejection(redis.call("eval", "while true do end", 0));
    await until("the script runs", () =>
      other.ping().then(
        () => false,
        (error: Error) => error.message.startsWith("BUSY "),
      ),
    );
    other.destroy();
    await server.kill();
    expect(await blocked).to.include({ reason: "lost", ambiguous: true });
    await server.restart();
    await until("it is connected", () => redis.call("ping").catch(() => undefined));
  });

  it("keeps the client reconnecting after stop(), and emitting to listeners that are added later", async () => {
    const client = clientOf({ socket: { reconnectStrategy: () => 50 } });
    const first = on(client);
    await first.call("ping");
    await first.stop();
    const emitted = new Set<string>();
    for (const event of ["error", "reconnecting", "ready"]) client.on(event, () => emitted.add(event));
    await server.kill();
    await until("the loss is emitted", () => emitted.has("error") && emitted.has("reconnecting"));
    await server.restart();
    await until("it is connected", () => emitted.has("ready") && client.isReady);
    await using second = on(client);
    expect(await second.call("ping")).to.equal("PONG");
  });

  it("throws for a cluster, a pool and a sentinel of node-redis, and for anything else", () => {
    const url = "redis://127.0.0.1:1";
    const others: unknown[] = [
      createCluster({ rootNodes: [{ url }] }),
      createClientPool({ url }),
      createSentinel({ name: "main", sentinelRootNodes: [{ host: "127.0.0.1", port: 1 }] }),
      {},
      undefined,
      "geheim",
    ];
    for (const client of others) {
      expect(() => fromNodeRedis(client as never))
        .to.throw(
          ConfigurationError,
          "client: must be a client from createClient() of node-redis 5; for a cluster",
        )
        .with.property("message")
        .that.does.not.contain("geheim");
    }
  });

  it("is recommended in the error for a client of node-redis that is passed directly", () => {
    const client = createClient({ password: "geheim" });
    expect(() => createRedis({ client: client as never }))
      .to.throw(ConfigurationError, "pass fromNodeRedis(client) for a client of node-redis")
      .with.property("message")
      .that.contains("must be an ioredis client")
      .and.does.not.contain("geheim");
  });
});
