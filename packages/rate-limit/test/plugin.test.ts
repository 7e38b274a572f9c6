import type { Middleware } from "@svc/context";
import { createService, type Service, type ServiceOptions } from "@svc/express";
import { ConfigurationError, withNames } from "@svc/options";
import { definePlugin } from "@svc/plugin";
import { rateLimitPlugin, type RouteLimit } from "@svc/rate-limit/plugin";
import { testRedis } from "@svc/dev-services";
import { collectingLogger, rejection, until } from "@svc/test-support";
import { expect } from "chai";
import { as, ask, statuses } from "./support/limited-app.ts";

const names = { subject: "the service", of: (option: string) => `plugin.rate_limit.${option}` };

interface Surroundings {
  readonly env?: string;
  readonly isEnabled?: boolean;
  readonly cache?: object;
}

async function start(given: object, { env = "local", isEnabled = false, cache }: Surroundings = {}) {
  const logger = collectingLogger();
  const { keys } = rateLimitPlugin.options;
  const options = withNames({ ...defaultsOf(keys), ...given }, names);
  const parts = await rateLimitPlugin.start({
    options,
    logger,
    part: () => cache,
    service: { name: "shop", env },
    isEnabled: () => isEnabled,
  } as never);
  return { parts, logger };
}

function defaultsOf(keys: object): object {
  const entries = Object.entries(keys as Record<string, { kind: { fallback?: unknown } }>);
  return Object.fromEntries(entries.map(([name, { kind }]) => [name, kind.fallback]));
}

describe("the plugin `rate_limit`", () => {
  it("defines its keys in the file, and uses the plugin `cache`", () => {
    const { keys } = rateLimitPlugin.options;
    expect(Object.values(keys).map(({ key }) => key)).to.deep.equal([
      "limit",
      "window",
      "burst",
      "fail_open",
      "exempt_paths",
      "command_timeout",
      "store",
    ]);
    expect([rateLimitPlugin.name, rateLimitPlugin.uses]).to.deep.equal(["rate_limit", ["cache"]]);
  });

  it("adds service.rateLimit, the readiness check, the limits in /info, and middleware before body parsers", async () => {
    const { parts, logger } = await start({});
    expect(parts.admission).to.be.a("function");
    expect(parts.parts?.rateLimit).to.be.a("function");
    expect(parts.checks?.map(({ name, critical }) => [name, critical])).to.deep.equal([
      ["rate_limit", false],
    ]);
    expect(parts.info).to.deep.equal({ limit: 100, window: 60, burst: 100, store: "memory" });
    expect(logger.lines).to.deep.equal([]);
  });

  it("counts in Redis if the plugin `cache` is enabled, unless the file sets another store", async () => {
    const keys: string[] = [];
    const redis = {
      evalsha: async (_sha: string, _count: number, key: string) => (keys.push(key), 1),
      eval: async () => 1,
    };
    const { parts } = await start({}, { isEnabled: true, cache: { redis } });
    expect(parts.info).to.include({ store: "cache" });
    await parts.checks?.[0]?.check(AbortSignal.timeout(1000));
    expect(keys).to.deep.equal(["shop:rl:{ready}"]);
    const memory = await start({ store: "memory" }, { isEnabled: true, cache: { redis } });
    expect(memory.parts.info).to.include({ store: "memory" });
  });

  it("warns in prod when requests are counted in memory", async () => {
    const { logger } = await start({}, { env: "prod" });
    expect(logger.at("warn")).to.have.length(1);
    expect(logger.at("warn")[0]).to.match(/^rate limits are counted in memory: with several replicas/);
  });

  it("rejects the store `cache` if the plugin `cache` is not enabled", async () => {
    const error = await rejection(start({ store: "cache" }));
    expect(error).to.be.instanceOf(ConfigurationError);
    expect(error.message).to.contain(
      'plugin.rate_limit.store: is "cache", but the plugin cache is not enabled; enable it, or use "memory"',
    );
  });

  it("adds nothing when the options of the cache are invalid, which the plugin `cache` reports", async () => {
    expect((await start({}, { isEnabled: true })).parts).to.deep.equal({});
  });

  it("reports limits of 0 and values of the wrong type under their keys in the file", async () => {
    const error = (await rejection(start({ limit: 0, windowSeconds: "x" }))) as unknown as ConfigurationError;
    expect(error.faults.map(({ key, message }) => `${key} ${message}`)).to.deep.equal([
      "plugin.rate_limit.limit must be a whole number from 1 to 1,000,000,000; it is 0",
      'plugin.rate_limit.windowSeconds must be a whole number from 1 to 86400; it is "x"',
    ]);
  });
});

// Use another name, so that the tests also run in a service without the built-in plugin.
const limits = definePlugin({ ...rateLimitPlugin, name: "limits" });

async function serviceWith(
  table: string,
  routes: (app: Service["app"], rateLimit: RouteLimit) => void,
  middleware: readonly Middleware[] = [],
): Promise<Service & { readonly url: string }> {
  const toml = `[service]\nname = "shop"\nenv = "local"\nport = 0\n${table}`;
  const service = await createService({
    config: { toml },
    env: {},
    plugins: { limits },
    middleware,
    logDestination: { write: () => undefined },
    signals: false,
    routes: (app: Service["app"], made: unknown) =>
      routes(app, (made as { rateLimit: RouteLimit }).rateLimit),
  } as unknown as ServiceOptions);
  await service.start();
  return Object.assign(service, { url: `http://127.0.0.1:${service.address?.port}` });
}

describe("a service with the plugin `rate_limit`", function () {
  this.timeout(30_000);
  const table = '[plugins]\nenabled = ["limits"]\n[plugin.limits]\nlimit = 2\nwindow = 3600\n';
  const json = { method: "POST", body: "{broken", headers: { "Content-Type": "application/json" } };

  it("RATE-1 RATE-2 RATE-3 rejects before the body is read, and never limits the service's own paths", async () => {
    await using service = await serviceWith(table, (app) => {
      app.post("/items", (req, res) => void res.json(req.body));
    });
    const answers = [
      await ask(service as never, "/items", json),
      await ask(service as never, "/items", json),
    ];
    const refused = await ask(service as never, "/items", json);
    expect([...answers, refused].map(({ status }) => status)).to.deep.equal([400, 400, 429]);
    expect(refused.body).to.deep.include({ limit: 2, remaining: 0, instance: "/items" });
    for (const name of [
      "ratelimit-limit",
      "ratelimit-remaining",
      "ratelimit-reset",
      "retry-after",
      "x-request-id",
    ]) {
      expect(refused.headers.get(name), name).to.match(/./);
    }
    expect(await statuses(service as never, 5, "/health")).to.deep.equal([200, 200, 200, 200, 200]);
    const { body } = await ask(service as never, "/ready");
    expect(JSON.stringify(body)).to.contain('"rate_limit"');
  });

  it("applies a route's own limit instead of the service's limit", async () => {
    await using service = await serviceWith(table, (app, rateLimit) => {
      app.post("/login", rateLimit({ limit: 1, scope: "login" }), (_req, res) => void res.json({}));
      app.get("/items", (_req, res) => void res.json({}));
    });
    expect(await statuses(service as never, 2, "/login", json)).to.deep.equal([400, 429]);
    expect(await statuses(service as never, 3, "/items")).to.deep.equal([200, 200, 429]);
  });

  it("RATE-4 counts by the address from trusted proxies", async () => {
    const trusting = `trusted_proxies = ["127.0.0.1"]\n${table}`;
    await using service = await serviceWith(trusting, (app) => {
      app.get("/items", (_req, res) => void res.json({}));
    });
    const one = as({ forwardedFor: "203.0.113.1" });
    expect(await statuses(service as never, 3, "/items", one)).to.deep.equal([200, 200, 429]);
    expect(await statuses(service as never, 1, "/items", as({ forwardedFor: "203.0.113.2" }))).to.deep.equal([
      200,
    ]);
  });

  it("RATE-3 sends no rate-limit headers while the plugin is not enabled", async () => {
    await using service = await serviceWith("", (app) => {
      app.get("/items", (_req, res) => void res.json({}));
    });
    expect((await ask(service as never, "/items")).headers.get("ratelimit-limit")).to.equal(null);
  });

  it("rejects, at startup, a route whose limit differs from that of its scope, and names both", async () => {
    const started = serviceWith(table, (app, rateLimit) => {
      app.post("/login", rateLimit({ limit: 1 }) as never);
    });
    expect((await rejection(started)).message).to.contain(
      "default has the limit 2 per 3600s with burst 2 already; a limit of 1 per 3600s with burst 1 needs a scope of its own",
    );
  });
});

describe("a service with the plugins `rate_limit` and `cache`", function () {
  this.timeout(30_000);
  const redis = testRedis();

  it("RATE-3 shares the bucket of a caller among its replicas", async () => {
    const table = `[plugins]
enabled = ["cache", "limits"]
[plugin.cache]
url = "${redis.url}"
key_prefix = "${redis.keyPrefix}plugin:"
[plugin.limits]
limit = 2
window = 3600
command_timeout = 15
`;
    const start = () => serviceWith(table, (app) => void app.get("/items", (_req, res) => void res.json({})));
    await using one = await start();
    await using two = await start();
    await until("both are connected", async () => {
      const checks = await Promise.all([one, two].map((each) => ask(each as never, "/ready")));
      return checks.every(({ body }) => !JSON.stringify(body).includes("not enforced"));
    });
    expect(await statuses(one as never, 1, "/items")).to.deep.equal([200]);
    expect(await statuses(two as never, 2, "/items")).to.deep.equal([200, 429]);
    expect(await statuses(one as never, 1, "/items")).to.deep.equal([429]);
  });
});
