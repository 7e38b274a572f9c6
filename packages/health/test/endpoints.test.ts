import type { IncomingMessage, ServerResponse } from "node:http";
import { health, type HealthOptions } from "@svc/health";
import { notFound, problemHandler } from "@svc/problem";
import { onResponseEnd } from "@svc/context";
import { routeTemplateOf } from "@svc/route-template";
import { expressMajors, listen, rawRequest } from "@svc/test-support";
import { expect } from "chai";
import request from "supertest";
import { check, deferred, settled } from "./support/checks.ts";
import { hosts, PASSED_ON } from "./support/hosts.ts";

const about = { service: "orders", version: "1.2.3", env: "staging" } as const;

function neverAsked(): never {
  throw new Error("a check was asked");
}

for (const name of ["bare http", "express 4", "express 5"]) {
  const serve = (options?: Partial<HealthOptions>) => {
    const host = hosts(health({ ...about, ...options }))[name];
    if (host === undefined) throw new Error(`no host ${name}`);
    return host;
  };

  describe(`health() on ${name}`, () => {
    it("SYS-1 SYS-8 returns status, service, version and env as application/json at /health", async () => {
      const answer = await request(serve()).get("/health");
      expect(answer.status).to.equal(200);
      expect(answer.headers["content-type"]).to.equal("application/json");
      expect(answer.text).to.equal('{"status":"ok","service":"orders","version":"1.2.3","env":"staging"}');
    });

    it("SYS-2 responds to /health without running a check", async () => {
      let asked = 0;
      const counted = check("database", true, () => {
        asked++;
        return { healthy: false, detail: "down" };
      });
      const host = serve({ checks: [counted] });
      await request(host).get("/health").expect(200);
      expect(asked).to.equal(0);
      await request(host).get("/ready").expect(503);
      expect(asked).to.equal(1);
    });

    it("SYS-3 RDY-1 RDY-2 RDY-3 returns the report at /ready", async () => {
      const meta = { waiting: 3 };
      const checks = [check("database", true, { healthy: true, detail: "12 of 20 connections", meta })];
      const answer = await request(serve({ checks })).get("/ready");
      expect(answer.status).to.equal(200);
      expect(answer.headers["content-type"]).to.equal("application/json");
      expect(answer.body).to.deep.equal({
        status: "ok",
        service: "orders",
        checks: {
          database: { healthy: true, status: "ok", detail: "12 of 20 connections", critical: true, meta },
        },
      });
    });

    it("SYS-3 SYS-4 RDY-5 RDY-6 returns 503 with the report when a critical check fails", async () => {
      const checks = [check("database", true, { healthy: false, detail: "no connection" })];
      const host = serve({ checks });
      const answer = await request(host).get("/ready");
      expect(answer.status).to.equal(503);
      expect(answer.headers["content-type"]).to.equal("application/json");
      expect(answer.body).to.deep.equal({
        status: "unavailable",
        service: "orders",
        checks: { database: { healthy: false, status: "fail", detail: "no connection", critical: true } },
      });
      await request(host).get("/health").expect(200);
    });

    it("SYS-5 SYS-8 returns the service, its environment, providers and plugins at /info", async () => {
      const plugins = [{ name: "auth", mode: "jwks" }, { name: "cache" }];
      const answer = await request(serve({ plugins, providers: ["google"] })).get("/info");
      expect(answer.status).to.equal(200);
      expect(answer.headers["content-type"]).to.equal("application/json");
      expect(answer.body).to.deep.equal({ ...about, providers: ["google"], plugins });
    });

    it("SYS-1 accepts a request target in absolute form, as sent to proxies", async () => {
      await using server = await listen(serve());
      const head = "Host: a\r\nConnection: close\r\n\r\n";
      const answer = await rawRequest(server.port, `GET http://orders.test/health?x=1 HTTP/1.1\r\n${head}`);
      expect(answer.status).to.equal(200);
      const other = await rawRequest(server.port, `GET http://orders.test/healthy HTTP/1.1\r\n${head}`);
      expect(other.status).to.equal(PASSED_ON);
    });

    it("MET-8 sets the route template for requests that it handles, and no template for requests that it passes on", async () => {
      const templates: unknown[] = [];
      const host = serve({ env: "prod" });
      const noting: typeof host = (req, res) => {
        onResponseEnd(req, res, (ended) => templates.push(routeTemplateOf(ended)));
        host(req, res);
      };
      for (const path of ["/health?x=1", "/ready", "/info", "/other"]) await request(noting).get(path);
      expect(templates).to.deep.equal(["/health", "/ready", undefined, undefined]);
    });

    it("SYS-6 passes on requests for /info in prod, for any method", async () => {
      const host = serve({ env: "prod", info: true });
      await request(host).get("/info").expect(PASSED_ON);
      await request(host).post("/info").expect(PASSED_ON);
      await request(host).get("/health").expect(200);
    });

    it("passes on requests for /info when the option `info` is false", async () => {
      await request(serve({ info: false }))
        .get("/info")
        .expect(PASSED_ON);
    });

    for (const path of ["/health", "/ready", "/info"]) {
      it(`responds to HEAD ${path} with the same headers and no body`, async () => {
        const host = serve();
        const got = await request(host).get(path);
        const head = await request(host).head(path);
        expect(head.status).to.equal(got.status);
        expect(head.text).to.equal(undefined);
        expect(head.headers["content-length"]).to.equal(String(got.text.length));
        expect(head.headers["content-type"]).to.equal(got.headers["content-type"]);
      });

      it(`sends ${path} with Cache-Control: no-store and without an ETag`, async () => {
        const answer = await request(serve()).get(path).set("If-None-Match", "*");
        expect(answer.status).to.equal(200);
        expect(answer.headers["cache-control"]).to.equal("no-store");
        expect(answer.headers).not.to.have.property("etag");
      });

      for (const method of ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"]) {
        it(`responds to ${method} ${path} with a 405 problem that names GET and HEAD`, async () => {
          const agent = request(serve({ checks: [check("database", true, neverAsked)] }));
          const answer = await agent[method.toLowerCase() as "post"](path);
          expect(answer.status).to.equal(405);
          expect(answer.headers["content-type"]).to.equal("application/problem+json");
          expect(answer.headers["allow"]).to.equal("GET, HEAD");
          const problem = answer.body as Record<string, unknown>;
          expect(problem).to.include({ status: 405, title: "Method Not Allowed", instance: path });
          expect(problem["request_id"]).to.equal(answer.headers["x-request-id"]);
        });
      }

      it(`responds to ${path} when the URL contains a query`, async () => {
        await request(serve()).get(`${path}?probe=1`).expect(200);
      });

      it(`passes on requests for paths that only resemble ${path}`, async () => {
        const host = serve();
        for (const other of [`${path}/`, `${path}z`, path.toUpperCase(), `/x${path}`, "/"]) {
          await request(host).get(other).expect(PASSED_ON);
        }
      });
    }
  });
}

describe("health()", () => {
  for (const [name, express] of Object.entries(expressMajors)) {
    it(`SYS-6 returns a 404 problem for /info in prod on ${name}`, async () => {
      const app = express().use(health({ ...about, env: "prod" }), notFound(), problemHandler());
      const answer = await request(app).get("/info");
      expect(answer.status).to.equal(404);
      expect(answer.headers["content-type"]).to.equal("application/problem+json");
    });
  }

  it("SYS-5 calls the functions `plugins` and `providers` for every request", async () => {
    const providers: string[] = [];
    const host = hosts(health({ ...about, providers: () => providers, plugins: () => [{ name: "late" }] }));
    providers.push("github");
    const answer = await request(host["bare http"] ?? "").get("/info");
    expect(answer.body).to.deep.equal({ ...about, providers: ["github"], plugins: [{ name: "late" }] });
  });

  it("calls next() with the error that the function `plugins` throws", async () => {
    const plugins = (): never => {
      throw new Error("boom");
    };
    await request(hosts(health({ ...about, plugins }))["bare http"] ?? "")
      .get("/info")
      .expect(500);
  });

  it("calls next() with an error when the function `plugins` or `providers` returns a promise or a number", async () => {
    const rejected: unknown[] = [];
    const onRejection = (error: unknown): void => void rejected.push(error);
    process.on("unhandledRejection", onRejection);
    const late = (): never => Promise.reject(new Error("too late")) as never;
    for (const wrong of [{ plugins: late }, { providers: late }, { plugins: () => 3 as never }]) {
      let error: unknown;
      const req = { method: "GET", url: "/info", headers: {} } as IncomingMessage;
      health({ ...about, ...wrong })(req, {} as ServerResponse, (given) => (error = given));
      expect(error)
        .to.be.instanceOf(TypeError)
        .with.property("message", `${Object.keys(wrong)[0]} of health() must return a list, not a promise`);
    }
    await new Promise(setImmediate);
    process.off("unhandledRejection", onRejection);
    expect(rejected).to.deep.equal([]);
  });

  it("removes user-info and queries from URLs in plugin entries", async () => {
    const plugins = [{ name: "cache", url: "redis://app:canary-1@cache:6379/0?password=canary-2" }];
    const answer = await request(hosts(health({ ...about, plugins }))["bare http"] ?? "").get("/info");
    expect(answer.text).to.contain("redis://cache:6379/0").and.not.to.contain("canary");
  });

  it("provides a handler for each endpoint, which responds under any path", async () => {
    const { handlers } = health(about);
    const live = hosts(handlers.health)["express 5"] ?? "";
    expect((await request(live).get("/livez")).body).to.include({ status: "ok" });
    await request(live).post("/livez").expect(405);
    const ready = hosts(handlers.ready)["express 5"] ?? "";
    expect((await request(ready).get("/readyz")).body).to.deep.equal({
      status: "ok",
      service: "orders",
      checks: {},
    });
    const info = hosts(handlers.info)["express 5"] ?? "";
    expect((await request(info).get("/about")).body).to.include({ version: "1.2.3" });
    const hidden = hosts(health({ ...about, env: "prod" }).handlers.info)["express 5"] ?? "";
    await request(hidden).get("/about").expect(PASSED_ON);
  });

  it("does not replace the 504 that a request deadline sent while the checks ran", async () => {
    const { promise, resolve } = deferred<{ healthy: boolean; detail: string }>();
    const middleware = health({ ...about, checks: [check("slow", true, () => promise)] });
    const passedOn: unknown[] = [];
    const host = hosts((req, res) => {
      middleware(req, res, (err) => passedOn.push(err));
      res.statusCode = 504;
      res.end("late");
    })["bare http"];
    await request(host ?? "")
      .get("/ready")
      .expect(504, "late");
    resolve({ healthy: true, detail: "" });
    expect(await middleware.report()).to.include({ status: "ok" });
    await settled();
    expect(passedOn).to.deep.equal([]);
  });

  it("responds only below its mount path in Express", async () => {
    const app = expressMajors["express 5"]().use("/internal", health(about));
    await request(app).get("/internal/health").expect(200);
    await request(app).get("/health").expect(404);
  });
});
