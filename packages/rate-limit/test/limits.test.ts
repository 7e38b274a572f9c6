import { rateLimit, type RateLimitStore } from "@svc/rate-limit";
import { problemHandler } from "@svc/problem";
import { expressMajors, listen } from "@svc/test-support";
import { expect } from "chai";
import connect from "connect";
import type { Request } from "express";
import { createServer } from "node:http";
import { ask, limitedApp, statuses } from "./support/limited-app.ts";

const LIMIT_HEADERS = ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "retry-after"];

const limitHeaders = (headers: Headers): readonly (string | null)[] =>
  LIMIT_HEADERS.map((name) => headers.get(name));

for (const [name, express] of Object.entries(expressMajors)) {
  describe(`rateLimit() in ${name}`, () => {
    it("RATE-1 RATE-2 ERR-20 returns 429 with members and headers when the bucket is empty", async () => {
      let now = 0;
      const limit = rateLimit({ limit: 2, windowSeconds: 60, now: () => now });
      await using app = await limitedApp((each) => each.use(limit as never), express);
      const [first, second, third] = [await ask(app), await ask(app), await ask(app, "/a?b=c")];
      expect(limitHeaders(first.headers)).to.deep.equal(["2", "1", "30", null]);
      expect(limitHeaders(second.headers)).to.deep.equal(["2", "0", "60", null]);
      expect([first.status, second.status, third.status]).to.deep.equal([200, 200, 429]);
      expect(limitHeaders(third.headers)).to.deep.equal(["2", "0", "60", "30"]);
      expect(third.headers.get("content-type")).to.equal("application/problem+json");
      expect(third.body).to.deep.include({
        status: 429,
        title: "Too Many Requests",
        detail: "Rate limit of 2 request(s) per 60s exceeded.",
        limit: 2,
        remaining: 0,
        retry_after: 30,
      });
      now = 29_999;
      expect((await ask(app)).body).to.deep.include({ status: 429, retry_after: 1 });
      now = 30_000;
      expect(await statuses(app, 2)).to.deep.equal([200, 429]);
    });

    it("RATE-2 never sends a Retry-After below 1", async () => {
      let now = 0;
      const limit = rateLimit({ limit: 1000, burst: 1, windowSeconds: 1, now: () => now });
      await using app = await limitedApp((each) => each.use(limit as never), express);
      await ask(app);
      now = 0.5;
      const { headers, body } = await ask(app);
      expect([headers.get("retry-after"), body["retry_after"]]).to.deep.equal(["1", 1]);
    });

    it("RATE-3 admits 100 requests per 60 s by default, all of them in one burst", async () => {
      let now = 0;
      const limit = rateLimit({ now: () => now });
      await using app = await limitedApp((each) => each.use(limit as never), express);
      const all = await statuses(app, 101);
      expect(all.slice(0, 100).every((status) => status === 200)).to.equal(true);
      expect(all[100]).to.equal(429);
      // The bucket gains one token every 0.6 s, and not all tokens at the end of a window.
      now = 600;
      expect(await statuses(app, 2)).to.deep.equal([200, 429]);
      now = 60_000;
      expect((await statuses(app, 100)).filter((status) => status === 200)).to.have.length(99);
    });

    it("RATE-3 sends no rate-limit headers in an application without the middleware", async () => {
      await using app = await limitedApp(() => undefined, express);
      const answer = await ask(app);
      expect(limitHeaders(answer.headers)).to.deep.equal([null, null, null, null]);
    });
  });
}

describe("rateLimit()", () => {
  const frozen = (): number => 0;

  it("admits `burst` requests in one burst, and `limit` per window", async () => {
    const limit = rateLimit({ limit: 1, burst: 3, windowSeconds: 10, now: frozen });
    await using app = await limitedApp((each) => each.use(limit as never));
    expect(await statuses(app, 4)).to.deep.equal([200, 200, 200, 429]);
    expect((await ask(app)).headers.get("retry-after")).to.equal("10");
  });

  it("takes `cost` tokens for a request, and none if the bucket has too few", async () => {
    const cost = (req: Request): number => Number(req.path.slice(1));
    const limit = rateLimit({ limit: 10, cost, now: frozen });
    await using app = await limitedApp((each) => each.use(limit as never));
    expect((await ask(app, "/7")).headers.get("ratelimit-remaining")).to.equal("3");
    const refused = await ask(app, "/4");
    expect(refused.body).to.deep.include({ status: 429, limit: 10, remaining: 3, retry_after: 6 });
    expect((await ask(app, "/3")).headers.get("ratelimit-remaining")).to.equal("0");
    const free = await ask(app, "/0");
    expect([free.status, free.headers.get("ratelimit-limit")]).to.deep.equal([200, null]);
  });

  it("takes a full bucket for a request that costs more than the burst", async () => {
    const limit = rateLimit({ limit: 10, cost: () => 1000, now: frozen });
    await using app = await limitedApp((each) => each.use(limit as never));
    expect(await statuses(app, 2)).to.deep.equal([200, 429]);
  });

  it("returns 500 when cost() or key() returns a value of the wrong type", async () => {
    const wrong = [
      { cost: () => 1.5 },
      { cost: () => -1 },
      { cost: () => Number.NaN },
      { cost: () => "1" as never },
      { cost: (async () => 1) as never },
      { key: () => "" },
      { key: () => 1 as never },
    ];
    for (const options of wrong) {
      await using app = await limitedApp((each) => each.use(rateLimit(options) as never));
      expect((await ask(app)).status, String(Object.values(options)[0])).to.equal(500);
      expect(String(app.logger.lines[0]?.fields["err"])).to.match(
        /TypeError: (cost|key)\(\) of the rate limit default must return/,
      );
    }
  });

  it("passes an error of cost() to the error handler", async () => {
    const cost = (): number => {
      throw new Error("no cost");
    };
    await using app = await limitedApp((each) => each.use(rateLimit({ cost }) as never));
    expect((await ask(app)).status).to.equal(500);
    expect(String(app.logger.lines[0]?.fields["err"])).to.contain("no cost");
  });

  it("does not limit the service's own paths and the exempt paths, matched in whole segments", async () => {
    const limit = rateLimit({ limit: 1, exemptPaths: ["/static/css"], now: frozen });
    await using app = await limitedApp((each) => each.use(limit as never));
    const exempt = ["/health", "/ready", "/info", "/metrics", "/openapi.json", "/docs", "/docs/app.js"];
    for (const path of [...exempt, "/static/css", "/static/css/a.css?x", "/health?verbose"]) {
      const { status, headers } = await ask(app, path);
      expect([status, ...limitHeaders(headers)], path).to.deep.equal([200, null, null, null, null]);
    }
    const limited = ["/healthy", "/docsx", "/static", "/static/cssx", "/v1/health", "/openapi.json.bak"];
    expect((await ask(app, "/first")).status).to.equal(200);
    for (const path of limited) expect((await ask(app, path)).status, path).to.equal(429);
  });

  it("charges a request once for each scope, regardless of the number of limits that apply to it", async () => {
    const store = counting();
    const one = rateLimit({ store });
    const same = rateLimit({ store });
    const other = rateLimit({ store, scope: "other", limit: 5 });
    await using app = await limitedApp((each) => {
      each.use(one as never, one as never, same as never, other as never);
    });
    const { headers } = await ask(app);
    expect(store.keys).to.deep.equal(["app:rl:{default:ip:127.0.0.1}", "app:rl:{other:ip:127.0.0.1}"]);
    // The response shows the limit that has the fewest requests left.
    expect(limitHeaders(headers).slice(0, 2)).to.deep.equal(["5", "4"]);
  });

  it("charges limits with different stores separately", async () => {
    await using app = await limitedApp((each) => {
      each.use(rateLimit({ limit: 3, now: frozen }) as never, rateLimit({ limit: 1, now: frozen }) as never);
    });
    expect(await statuses(app, 2)).to.deep.equal([200, 429]);
    expect((await ask(app)).body["limit"]).to.equal(1);
  });

  it("returns 429 in a server without Express when the bucket is empty", async () => {
    const limit = rateLimit({ limit: 1, now: frozen });
    const handleError = problemHandler();
    await using server = await listen(
      createServer((req, res) => {
        limit(req, res, (error) => {
          if (error === undefined) res.end("{}");
          else handleError(error as Error, req, res, () => undefined);
        });
      }) as never,
    );
    expect(await statuses(server, 2)).to.deep.equal([200, 429]);
  });

  it("returns 429 in Connect when the bucket is empty", async () => {
    const app = connect();
    app.use(rateLimit({ limit: 1, now: frozen }) as never);
    app.use((_req, res) => res.end("{}"));
    app.use(problemHandler() as never);
    await using server = await listen(app);
    expect(await statuses(server, 2)).to.deep.equal([200, 429]);
  });

  it("describes itself as a guard, for tools that list routes", () => {
    const limit = rateLimit({ limit: 7, windowSeconds: 30 });
    const guard = (limit as unknown as Record<symbol, unknown>)[Symbol.for("@svc/guard")];
    expect(guard).to.deep.equal({ kind: "rate-limit", values: ["7 per 30s"] });
  });

  it("sets no headers on a response that was sent while the store was queried", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const store: RateLimitStore = {
      take: async () => {
        await promise;
        return { isAdmitted: true, microTokens: 1e6 };
      },
    };
    const limit = rateLimit({ store, commandTimeoutMs: 60_000 });
    const passed: unknown[] = [];
    await using server = await listen(
      createServer((req, res) => {
        limit(req, res, (error) => passed.push(error));
        res.end("{}");
        resolve();
      }) as never,
    );
    expect((await ask(server)).status).to.equal(200);
    expect(passed).to.deep.equal([undefined]);
  });
});

/** A store that admits everything and records the keys. */
function counting(): RateLimitStore & { readonly keys: string[] } {
  const keys: string[] = [];
  return {
    keys,
    take(key, { burst }) {
      keys.push(key);
      return { isAdmitted: true, microTokens: (burst - 1) * 1e6 };
    },
  };
}
