import { randomBytes } from "node:crypto";
import { testRedis } from "@svc/dev-services";
import { requireAuth } from "@svc/jwt-auth";
import { createRedisTokenStore } from "@svc/token-store/redis";
import { signToken } from "@svc/test-support";
import { expect } from "chai";
import type { Express } from "express";
import request from "supertest";
import { makeService, startService } from "./support/test-service.ts";

const secret = randomBytes(32).toString("base64");
const reference = `[plugins]
enabled = ["observability", "cache", "auth"]
[plugin.auth]
mode = "secret"
algorithms = ["HS256"]
[plugin.cache]
url = "\${REDIS_URL}"
`;

function routes(app: Express): void {
  app.get("/mine", requireAuth(), (_req, res) => res.json({}));
}

describe("the plugin `cache`", function () {
  this.timeout(60_000);
  const redis = testRedis();
  const env = (): Record<string, string> => ({ REDIS_URL: redis.url, SVC_AUTH_SECRET: secret });

  it("CFG-9 RDY-16 starts together with the plugin `auth`, and provides its connection as service.cache", async () => {
    await using test = await startService({ toml: reference, env: env(), routes });
    const { cache } = test.service;
    await cache?.redis.call("set", "a", "1");
    expect(await cache?.redis.call("get", "a")).to.equal("1");
    const { checks } = (await request(test.url).get("/ready")).body as {
      checks: Record<string, { critical: boolean }>;
    };
    expect(checks["cache"]).to.include({ critical: false });
    const { plugins } = (await request(test.url).get("/info")).body as { plugins: { name: string }[] };
    expect(plugins.map(({ name }) => name)).to.include.members(["observability", "cache", "auth"]);
  });

  it("REV-3 rejects a token that was revoked in the shared store, at the next request to any replica", async () => {
    await using a = await startService({ toml: reference, env: env(), routes });
    await using b = await startService({ toml: reference, env: env(), routes });
    const token = signToken({ jti: "t-1", fam: "f-1" }, secret);
    const statuses = (): Promise<number[]> =>
      Promise.all(
        [a, b].map(async ({ url }) => {
          const asked = request(url).get("/mine").set("Authorization", `Bearer ${token}`);
          return (await asked).status;
        }),
      );
    expect(await statuses()).to.deep.equal([200, 200]);
    const shared = a.service.cache ?? expect.fail("there is no cache");
    await createRedisTokenStore({ redis: shared.redis }).revokeFamily("f-1", 60);
    expect(await statuses()).to.deep.equal([401, 401]);
  });

  it("RDY-16 starts while Redis is down, and shows its password neither in /ready nor in the log", async () => {
    const url = "redis://somebody:hunter2@127.0.0.1:1/0";
    await using test = await startService({ toml: reference, env: { ...env(), REDIS_URL: url }, routes });
    const { status, text } = await request(test.url).get("/ready");
    expect(status).to.equal(200);
    expect(text).to.contain('"cache"').and.to.not.contain("hunter2");
    const token = signToken({ jti: "t-2" }, secret);
    const asked = request(test.url).get("/mine").set("Authorization", `Bearer ${token}`);
    expect((await asked).status).to.equal(200);
    expect(JSON.stringify(test.lines)).to.not.contain("hunter2");
  });

  it("refuses to start with an invalid URL, and names the key", async () => {
    const wrong = makeService({ toml: reference, env: { ...env(), REDIS_URL: "http://x" } });
    const error = await wrong.then(
      () => "it started",
      (reason: unknown) => String(reason),
    );
    expect(error).to.contain("plugin.cache.url: must be a URL that begins with redis:// or rediss://");
  });
});
