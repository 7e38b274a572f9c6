import { contextOf, currentContext, enterContext } from "@svc/context";
import { type RedisServer, startRedis, testProgram } from "@svc/dev-services";
import { rateLimit, type RateLimitStore } from "@svc/rate-limit";
import { until } from "@svc/test-support";
import { expect } from "chai";
import { Redis } from "ioredis";
import { ask, limitedApp, statuses } from "./support/limited-app.ts";

const NOT_ENFORCED = "rate limits are not enforced: the store does not answer";
const strict = { maxRetriesPerRequest: 0, enableOfflineQueue: false, retryStrategy: (): number => 20 };

describe("rateLimit() while its store fails", () => {
  it("RATE-5 lets requests pass, and warns at most once per 10 s", async () => {
    let now = 0;
    const store = failing();
    const limitOf = (logger: never) => rateLimit({ limit: 1, store, now: () => now, logger });
    let limit: ReturnType<typeof rateLimit> | undefined;
    await using app = await limitedApp((each, logger) => {
      limit = limitOf(logger as never);
      each.use(limit as never);
    });
    // The breaker sends a trial every 2 s, so five trials precede the next warning.
    for (; now <= 10_000; now += 2000) expect(await statuses(app, 3)).to.deep.equal([200, 200, 200]);
    expect(store.calls).to.equal(6);
    expect(app.logger.at("warn")).to.deep.equal([NOT_ENFORCED, NOT_ENFORCED]);
    expect(app.logger.lines[0]?.fields).to.deep.equal({ reason: "ECONNREFUSED", suppressed: 0 });
    expect(app.logger.lines[1]?.fields).to.deep.equal({ reason: "ECONNREFUSED", suppressed: 4 });
    const { headers } = await ask(app);
    expect(headers.get("ratelimit-limit")).to.equal(null);
  });

  it("RATE-5 enforces the limits again after the first trial that succeeds", async () => {
    let now = 0;
    const store = failing();
    await using app = await limitedApp((each, logger) => {
      each.use(rateLimit({ limit: 1, store, now: () => now, logger }) as never);
    });
    expect(await statuses(app, 2)).to.deep.equal([200, 200]);
    store.heal();
    now = 1999;
    expect(await statuses(app, 2)).to.deep.equal([200, 200]);
    now = 2000;
    expect(await statuses(app, 2)).to.deep.equal([429, 429]);
    expect(app.logger.at("info")).to.deep.equal(["rate limits are enforced again: the store answers"]);
  });

  it("RATE-5 reports the readiness check rate_limit as degraded, never as critical", async () => {
    let now = 0;
    const store = failing();
    const check = rateLimit({ store, now: () => now }).readiness();
    expect(check).to.include({ name: "rate_limit", critical: false });
    const result = async (): Promise<unknown> => check.check(AbortSignal.timeout(1000));
    expect(await result()).to.deep.equal({ healthy: false, detail: NOT_ENFORCED });
    store.heal("admit");
    expect(await result()).to.deep.equal({ healthy: false, detail: NOT_ENFORCED });
    now = 2000;
    expect(await result()).to.deep.equal({ healthy: true, detail: "rate limits are enforced" });
  });

  it("RATE-5 returns 503 with Retry-After when failOpen is false", async () => {
    const store = failing();
    let limit: ReturnType<typeof rateLimit> | undefined;
    await using app = await limitedApp((each, logger) => {
      limit = rateLimit({ store, failOpen: false, now: () => 0, logger });
      each.use(limit as never);
    });
    const { status, headers, body } = await ask(app);
    expect([status, headers.get("retry-after")]).to.deep.equal([503, "2"]);
    expect(body).to.deep.include({ detail: "the rate limit cannot be checked" });
    expect((await ask(app, "/health")).status).to.equal(200);
    const closed = "requests are rejected: the store of the rate limits does not answer";
    expect(app.logger.at("warn")).to.deep.equal([closed]);
    expect(await limit?.readiness().check(AbortSignal.timeout(1000))).to.deep.equal({
      healthy: false,
      detail: closed,
    });
  });

  it("RATE-5 returns 503 only for the route whose own limit has failOpen: false", async () => {
    await using app = await limitedApp((each) => {
      const limit = rateLimit({ store: failing(), now: () => 0 });
      each.use(limit as never);
      each.get("/pay", limit.route({ scope: "pay", failOpen: false }) as never);
    });
    expect(await statuses(app, 1, "/pay")).to.deep.equal([503]);
    expect(await statuses(app, 1, "/other")).to.deep.equal([200]);
  });

  it("lets requests pass when the store throws, or returns a malformed reply", async () => {
    const thrown: RateLimitStore = {
      take() {
        throw new Error("redis://user:geheim@host");
      },
    };
    const odd = { eval: async () => "x", evalsha: async () => null };
    for (const store of [thrown, { ...odd, evalsha: async () => "x" }]) {
      await using app = await limitedApp((each, logger) => {
        each.use(rateLimit({ store, logger }) as never);
      });
      expect(await statuses(app, 2)).to.deep.equal([200, 200]);
      expect(app.logger.lines.map(({ fields }) => fields["reason"])).to.deep.equal(["Error"]);
      expect(app.logger.texts.join()).not.to.contain("geheim");
    }
  });

  it("calls the next handler in the request's context, even when the store exceeds the time limit", async () => {
    const replies = [
      Promise.resolve({ isAdmitted: true, microTokens: 0 }),
      new Promise<never>(() => undefined),
    ];
    let calls = 0;
    const store: RateLimitStore = { take: () => replies[Math.min(calls++, 1)] as Promise<never> };
    await using app = await limitedApp((each) => {
      each.use(enterContext as never, rateLimit({ store, commandTimeoutMs: 20 }) as never);
      each.use((req, res) => void res.json({ isOwn: currentContext() === contextOf(req) }));
    });
    const answers = [await ask(app), ...(await Promise.all([ask(app), ask(app)]))];
    expect(answers.map(({ body }) => body)).to.deep.equal([
      { isOwn: true },
      { isOwn: true },
      { isOwn: true },
    ]);
    expect(app.logger.lines).to.deep.equal([]);
  });

  it("lets requests pass even when the logger throws", async () => {
    const full = (): never => {
      throw new Error("the disk is full");
    };
    const logger = { debug: full, info: full, warn: full, error: full, fatal: full };
    await using app = await limitedApp((each) => each.use(rateLimit({ store: failing(), logger }) as never));
    expect(await statuses(app, 2)).to.deep.equal([200, 200]);
  });
});

describe("rateLimit() while Redis fails", function () {
  this.timeout(60_000);
  testProgram("redis");
  let server: RedisServer;
  let redis: Redis;
  before(async () => {
    server = await startRedis();
    redis = new Redis(server.url, strict);
    redis.on("error", () => undefined);
    await new Promise((resolve) => redis.once("ready", resolve));
  });
  after(async () => {
    redis.disconnect();
    await server.stop();
  });

  /** Starts an application with a limit of one request, a stopped clock, and an empty bucket. */
  async function emptied(scope: string, commandTimeoutMs: number) {
    const clock = { now: 0 };
    const made: { limit?: ReturnType<typeof rateLimit> } = {};
    const app = await limitedApp((each, logger) => {
      made.limit = rateLimit({
        limit: 1,
        windowSeconds: 3600,
        scope,
        store: redis,
        logger,
        commandTimeoutMs,
        now: () => clock.now,
      });
      each.use(made.limit as never);
    });
    const isEnforced = async (): Promise<boolean> => {
      clock.now += 2000;
      return (await ask(app)).status === 429;
    };
    await until("the limit is enforced", isEnforced);
    const detail = async (): Promise<string | undefined> =>
      (await made.limit?.readiness().check(AbortSignal.timeout(5000)))?.detail;
    return Object.assign(app, { clock, isEnforced, detail });
  }

  it("RATE-5 lets requests pass while Redis is frozen, and waits for one time limit per breaker window", async () => {
    await using app = await emptied("frozen", 100);
    const before = app.logger.lines.length;
    server.pause();
    try {
      // The time limit of the first request ends the others, too. Later requests are not sent to Redis while the clock does
      // not advance.
      expect(
        (await Promise.all(Array.from({ length: 8 }, () => ask(app)))).map(({ status }) => status),
      ).to.deep.equal(passes(8));
      expect(await statuses(app, 20)).to.deep.equal(passes(20));
      expect(await app.detail()).to.equal(NOT_ENFORCED);
      app.clock.now += 2000;
      expect(await statuses(app, 2)).to.deep.equal([200, 200]);
      expect(app.logger.texts.slice(before)).to.have.length.of.at.most(2);
      expect(app.logger.texts.slice(before).join()).to.contain("no answer in time");
    } finally {
      server.resume();
    }
    await until("the limit is enforced again", app.isEnforced);
  });

  it("RATE-5 lets requests pass while Redis is stopped", async () => {
    await using app = await emptied("away", 15_000);
    await server.kill();
    await until("the connection is closed", () => redis.status !== "ready");
    expect(await statuses(app, 5)).to.deep.equal(passes(5));
    expect(await app.detail()).to.equal(NOT_ENFORCED);
    await server.restart();
    await until("the limit is enforced again", app.isEnforced);
  });

  for (const [fault, begin, end, reason] of [
    ["full", ["config", "set", "maxmemory", "1"], ["config", "set", "maxmemory", "0"], "OOM"],
    ["read-only", ["replicaof", "127.0.0.1", "1"], ["replicaof", "no", "one"], "READONLY"],
  ] as const) {
    it(`RATE-5 lets requests pass while Redis is ${fault}, and reports it`, async () => {
      await using app = await emptied(fault, 15_000);
      const [command, ...args] = begin;
      await redis.call(command, ...args);
      try {
        // A refusal only reads the bucket, which this Redis still permits.
        expect(await statuses(app, 1)).to.deep.equal([429]);
        await redis.call(...(end as readonly [string, ...string[]]));
        await redis.del(`app:rl:{${fault}:ip:127.0.0.1}`);
        await redis.call(command, ...args);
        app.clock.now += 10_000;
        expect(await statuses(app, 3)).to.deep.equal([200, 200, 200]);
        expect(app.logger.texts.join()).to.contain(reason);
        expect(await app.detail()).to.equal(NOT_ENFORCED);
        app.clock.now += 2000;
        expect(await app.detail()).to.equal(NOT_ENFORCED);
      } finally {
        await redis.call(...(end as readonly [string, ...string[]]));
      }
      await until("the limit is enforced again", app.isEnforced);
    });
  }
});

/** A store that rejects every call, and later admits or refuses every call. */
function failing(): RateLimitStore & { readonly calls: number; heal(how?: "admit"): void } {
  let calls = 0;
  let healed: { readonly isAdmitted: boolean } | undefined;
  return {
    async take() {
      calls += 1;
      if (healed === undefined) throw Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
      return { ...healed, microTokens: 0 };
    },
    heal: (how) => void (healed = { isAdmitted: how === "admit" }),
    get calls() {
      return calls;
    },
  };
}

const passes = (count: number): readonly number[] => Array.from({ length: count }, () => 200);
