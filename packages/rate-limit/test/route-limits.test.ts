import { memoryStore, rateLimit, type RateLimitStore } from "@svc/rate-limit";
import { ConfigurationError } from "@svc/options";
import { expressMajors, rawRequest } from "@svc/test-support";
import { expect } from "chai";
import { Router, json } from "express";
import type { RequestHandler } from "express";
import { ask, limitedApp, statuses } from "./support/limited-app.ts";

const frozen = (): number => 0;

for (const [name, express] of Object.entries(expressMajors)) {
  describe(`a limit for single routes in ${name}`, () => {
    it("replaces the service's limit, with one charge per request", async () => {
      const store = recording();
      const limit = rateLimit({ limit: 50, store });
      const login = limit.route({ limit: 5, scope: "login" }) as unknown as RequestHandler;
      await using app = await limitedApp((each) => {
        each.use(limit as never);
        each.get("/login", (_req, res) => void res.json({ form: true }));
        each.post("/login", login, (_req, res) => void res.json({}));
      }, express);
      const { headers } = await ask(app, "/login", { method: "POST" });
      expect(headers.get("ratelimit-limit")).to.equal("5");
      expect(store.scopes()).to.deep.equal(["login"]);
      await ask(app, "/login");
      await ask(app, "/other");
      expect(store.scopes()).to.deep.equal(["default", "default"]);
    });

    it("keeps the service's limit for paths that are not routes of a router with a limit", async () => {
      const store = recording();
      const limit = rateLimit({ limit: 50, store });
      const bulk = limit.route({ limit: 1000, scope: "bulk" }) as unknown as RequestHandler;
      await using app = await limitedApp((each) => {
        each.use(limit as never);
        each.use(Router().get("/bulk", (_req, res) => void res.json({})));
        const limited = Router();
        limited.use(bulk);
        limited.get("/large", (_req, res) => void res.json({}));
        each.use(limited);
        each.get("/expensive", (_req, res) => void res.json({}));
      }, express);
      await ask(app, "/expensive");
      expect(store.scopes()[0]).to.equal("default");
      await ask(app, "/large");
      expect(store.scopes()).to.deep.equal(["bulk"]);
    });

    it("limits a route with its own limit below an exempt path, and a path that leaves an exempt path with `..`", async () => {
      const limit = rateLimit({ limit: 1, now: frozen });
      const login = limit.route({ limit: 1, scope: "login" }) as unknown as RequestHandler;
      await using app = await limitedApp((each) => {
        each.use(limit as never);
        each.post("/docs/login", login, (_req, res) => void res.json({}));
      }, express);
      expect(await statuses(app, 2, "/docs/login", { method: "POST" })).to.deep.equal([200, 429]);
      expect(await statuses(app, 3, "/health")).to.deep.equal([200, 200, 200]);
      const raw = async (): Promise<number | undefined> =>
        (await rawRequest(app.port, "GET /health/../expensive HTTP/1.1\r\nHost: a\r\n\r\n")).status;
      expect([await raw(), await raw()]).to.deep.equal([200, 429]);
    });

    it("rejects a request before the body parser and the route's guards run", async () => {
      const limit = rateLimit({ limit: 50, now: frozen });
      const login = limit.route({ limit: 1, scope: "login" }) as unknown as RequestHandler;
      const seen: string[] = [];
      await using app = await limitedApp((each) => {
        each.use(limit as never);
        each.use(json());
        each.use((req, _res, next) => {
          seen.push(req.url);
          next();
        });
        each.post(
          "/login",
          (_req, _res, next) => next(Object.assign(new Error("no"), { status: 401, expose: true })),
          login,
        );
      }, express);
      const body = "{broken";
      const post = { method: "POST", body, headers: { "Content-Type": "application/json" } };
      // The first request is charged although it never reaches the route.
      expect(await statuses(app, 2, "/login", post)).to.deep.equal([400, 429]);
      expect(seen).to.deep.equal([]);
    });

    it("applies in routers, to HEAD, to all methods of a path, and to a route with several methods", async () => {
      const store = recording();
      const limit = rateLimit({ store });
      const of = (scope: string): RequestHandler =>
        limit.route({ limit: 5, scope }) as unknown as RequestHandler;
      const end: RequestHandler = (_req, res) => void res.json({});
      await using app = await limitedApp((each) => {
        each.use(limit as never);
        const inner = (express as unknown as { Router: typeof Router }).Router();
        inner.get("/items/:id", of("item"), end);
        inner.use("/deep", of("deep"));
        const outer = (express as unknown as { Router: typeof Router }).Router();
        outer.use("/v1", inner);
        each.use("/api", outer);
        each.route("/many").get(of("read"), end).put(of("write"), end);
        each.all("/all", of("all"));
        each.get("/all", end);
      }, express);
      const scopesOf = async (path: string, method = "GET"): Promise<readonly string[]> => {
        await ask(app, path, { method });
        return store.scopes();
      };
      expect(await scopesOf("/api/v1/items/7")).to.deep.equal(["item"]);
      expect(await scopesOf("/api/v1/items/7?x", "HEAD")).to.deep.equal(["item"]);
      expect(await scopesOf("/api/v1/items/7", "POST")).to.deep.equal(["default"]);
      expect(await scopesOf("/api/v1/items/%zz")).to.deep.equal(["default"]);
      expect(await scopesOf("/api/v1/deep/x")).to.deep.equal(["deep"]);
      expect(await scopesOf("/many")).to.deep.equal(["read"]);
      expect(await scopesOf("/many", "PUT")).to.deep.equal(["write"]);
      expect(await scopesOf("/many", "DELETE")).to.deep.equal(["default"]);
      expect(await scopesOf("/all")).to.deep.equal(["all"]);
      expect(await scopesOf("/all", "DELETE")).to.deep.equal(["all"]);
    });

    it("keeps the service's limit for a request whose first matching route has no own limit", async () => {
      const store = recording();
      const limit = rateLimit({ store });
      const own = limit.route({ limit: 5, scope: "user" }) as unknown as RequestHandler;
      await using app = await limitedApp((each) => {
        each.use(limit as never);
        each.get("/users/me", (_req, res) => void res.json({}));
        each.get("/users/:id", own, (_req, res) => void res.json({}));
      }, express);
      await ask(app, "/users/me");
      expect(store.scopes()).to.deep.equal(["default"]);
      await ask(app, "/users/7");
      expect(store.scopes()).to.deep.equal(["user"]);
    });

    it("is charged in addition to the service's limit if it cannot be found in advance, as in a mounted application", async () => {
      const store = recording();
      const limit = rateLimit({ store });
      const own = limit.route({ limit: 5, scope: "sub" }) as unknown as RequestHandler;
      await using app = await limitedApp((each) => {
        each.use(limit as never);
        const sub = express();
        sub.get("/x", own, (_req, res) => void res.json({}));
        each.use("/sub", sub);
      }, express);
      await ask(app, "/sub/x");
      expect(store.scopes()).to.deep.equal(["default", "sub"]);
    });
  });
}

describe("a limit for single routes", () => {
  it("has the limit, window, burst and cost of the limit that it replaces, unless it sets its own", async () => {
    const store = recording();
    const limit = rateLimit({ limit: 50, burst: 80, windowSeconds: 30, store });
    const options = [
      { cost: 5 },
      { scope: "a" },
      { scope: "b", limit: 7 },
      { scope: "c", burst: 90 },
      { scope: "d", limit: undefined },
    ];
    await using app = await limitedApp((each) => {
      each.use(limit as never);
      for (const [n, own] of options.entries()) {
        each.get(`/${n}`, limit.route(own) as never, (_req, res) => void res.json({}));
      }
    });
    const taken: unknown[] = [];
    for (const n of options.keys()) {
      await ask(app, `/${n}`);
      const [{ bucket, cost } = { bucket: undefined, cost: 0 }] = store.taken.splice(0);
      taken.push([bucket?.limit, bucket?.burst, bucket?.windowSeconds, cost]);
    }
    expect(taken).to.deep.equal([
      [50, 80, 30, 5],
      [50, 80, 30, 1],
      [7, 7, 30, 1],
      [50, 90, 30, 1],
      [50, 80, 30, 1],
    ]);
  });

  it("is rejected when its scope already has a different limit, and the error names both", () => {
    const limit = rateLimit({ limit: 100 });
    limit.route({ scope: "login", limit: 5 });
    limit.route({ scope: "login", limit: 5, cost: 2 });
    expect(() => limit.route({ scope: "login", limit: 6 })).to.throw(
      ConfigurationError,
      "scope: login has the limit 5 per 60s with burst 5 already; a limit of 6 per 60s with burst 6 needs a scope of its own",
    );
    expect(() => limit.route({ limit: 5 })).to.throw(
      "default has the limit 100 per 60s with burst 100 already; a limit of 5 per 60s with burst 5 needs a scope of its own",
    );
  });

  it("is rejected when the scope has a different limit in the same store", () => {
    const store = memoryStore();
    rateLimit({ store, limit: 5, scope: "login" });
    expect(() => rateLimit({ store, limit: 6, scope: "login" })).to.throw(ConfigurationError, "already");
    rateLimit({ store, limit: 6, scope: "login", service: "other" });
    rateLimit({ limit: 6, scope: "login" });
  });

  it("describes itself as a guard", () => {
    const own = rateLimit().route({ limit: 5, scope: "login" });
    const guard = (own as unknown as Record<symbol, unknown>)[Symbol.for("@svc/guard")];
    expect(guard).to.deep.equal({ kind: "rate-limit", values: ["5 per 60s"] });
  });
});

type Call = {
  readonly key: string;
  readonly bucket: { limit: number; burst: number; windowSeconds: number };
  readonly cost: number;
};

/** A store that admits everything and records its calls. */
function recording(): RateLimitStore & { readonly taken: Call[]; scopes(): readonly string[] } {
  const taken: Call[] = [];
  return {
    taken,
    take(key, bucket, cost) {
      taken.push({ key, bucket, cost });
      return { isAdmitted: true, microTokens: 1e6 };
    },
    /** Returns the scopes of the calls since the last call of this method. */
    scopes: () => taken.splice(0).map(({ key }) => /\{([^:]+):/.exec(key)?.[1] ?? key),
  };
}
