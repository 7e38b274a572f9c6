import { expect } from "chai";
import type { Express, Router } from "express";
import request from "supertest";
import { onBothMajors } from "./support/majors.ts";
import { startService } from "./support/test-service.ts";

const paths = ["/health", "/ready", "/info", "/metrics"];

/** Returns the names of an application's layers in order. */
function layersOf(app: Express): string[] {
  const { _router: old } = app as unknown as { _router?: { stack: { name: string }[] } };
  const router = old ?? (app.router as unknown as { stack: { name: string }[] });
  return router.stack.map((layer) => layer.name).filter((name) => name !== "query" && name !== "expressInit");
}

async function expectAnswered(url: string): Promise<void> {
  const health = await request(url).get("/health");
  expect(health.body).to.deep.equal({ status: "ok", service: "test", version: "0.1.0", env: "local" });
  expect((await request(url).get("/ready")).body).to.include({ status: "ok", service: "test" });
  expect((await request(url).get("/info")).body).to.include({ service: "test" });
  expect((await request(url).get("/metrics")).text).to.contain("http_requests_total");
  expect((await request(url).head("/health")).status).to.equal(200);
}

describe("framework routes", () => {
  onBothMajors((express) => {
    const star = "lazyrouter" in express() ? "*" : "/{*rest}";

    it("ROUTE-1 run after the application's middleware and routes, unless a route matches their paths", async () => {
      const seen: string[] = [];
      await using test = await startService({
        app: express(),
        routes: (app) => {
          app.use(function passing(req, _res, next) {
            seen.push(req.url);
            next();
          });
          app.get("/items/:id", (_req, res) => void res.json({}));
        },
      });
      await expectAnswered(test.url);
      // The middleware has seen all requests, so the framework routes run after it.
      expect(seen).to.deep.equal([...paths, "/health"]);
      expect(layersOf(test.service.app)).to.deep.equal([
        "composed",
        "passing",
        ...layersOf(test.service.app).slice(2, 3),
        "dispatchFrameworkRoute",
        "notFoundMiddleware",
        "problemHandlerMiddleware",
      ]);
    });

    const claims: Readonly<Record<string, (app: Express) => void>> = {
      "a catch-all route": (app) => void app.get(star, (_req, res) => void res.send("app")),
      "a catch-all for every method": (app) => void app.all(star, (_req, res) => void res.send("app")),
      "a route with a parameter": (app) => void app.get("/:id", (_req, res) => void res.send("app")),
      "another route with the same path": (app) => {
        for (const path of paths) app.get(path, (_req, res) => void res.send("app"));
      },
      "a mounted router with a parameter": (app) => {
        const router: Router = express.Router();
        router.get("/:id", (_req, res) => void res.send("app"));
        app.use("/", router);
      },
      "a nested router": (app) => {
        const inner: Router = express.Router();
        inner.get(/.*/, (_req, res) => void res.send("app"));
        app.use(express.Router().use(inner));
      },
      "a mounted application": (app) => {
        const inner = express();
        inner.use((_req, res) => void res.send("app"));
        app.use(inner);
      },
      "trailing middleware that returns 404": (app) => {
        app.get("/items", (_req, res) => void res.send("app"));
        app.use((_req, res) => void res.status(404).send("app"));
      },
      "middleware mounted at the paths": (app) => {
        for (const path of paths) app.use(path, (_req, res) => void res.send("app"));
        app.get("/items", (_req, res) => void res.send("app"));
      },
    };
    for (const [title, register] of Object.entries(claims)) {
      it(`ROUTE-2 run before ${title}`, async () => {
        await using test = await startService({ app: express(), routes: register });
        await expectAnswered(test.url);
      });
    }

    it("ROUTE-3 run before an application's parameterised route, which keeps its position for all other paths", async () => {
      const order: string[] = [];
      await using test = await startService({
        app: express(),
        routes: (app) => {
          app.get("/:id", (req, _res, next) => {
            order.push(`param ${req.params.id}`);
            next();
          });
          app.get("/fixed", (_req, res) => void res.send("fixed"));
        },
      });
      await expectAnswered(test.url);
      expect((await request(test.url).get("/fixed")).text).to.equal("fixed");
      expect(order).to.deep.equal(["param fixed"]);
    });

    it("ROUTE-2 leave PUT to the application's route for the same path, and list all methods in Allow", async () => {
      await using test = await startService({
        app: express(),
        routes: (app) => void app.put("/health", (_req, res) => void res.send("put")),
      });
      await expectAnswered(test.url);
      expect((await request(test.url).put("/health")).text).to.equal("put");
      const post = await request(test.url).post("/health");
      expect(post.status).to.equal(405);
      expect(post.headers["allow"]).to.equal("GET, HEAD, PUT");
      expect(post.headers["content-type"]).to.equal("application/problem+json");
    });

    it("ERR-9 ERR-10 respond with 405 to methods other than GET and HEAD, even when middleware follows the routes", async () => {
      await using plain = await startService({ app: express() });
      await using trailing = await startService({
        app: express(),
        routes: (app) => void app.use((_req, res) => void res.sendStatus(404)),
      });
      for (const { url } of [plain, trailing]) {
        for (const path of paths) {
          const answer = await request(url).delete(path);
          expect(answer.status, path).to.equal(405);
          expect(answer.headers["allow"]).to.equal("GET, HEAD");
        }
      }
    });

    it("ROUTE-2 leave methods other than GET and HEAD to an application route for all methods", async () => {
      await using test = await startService({
        app: express(),
        routes: (app) => void app.all(star, (req, res) => void res.send(`app ${req.method}`)),
      });
      expect((await request(test.url).post("/health")).text).to.equal("app POST");
      expect((await request(test.url).get("/health")).body).to.include({ status: "ok" });
    });

    it("SYS-8 match only their exact paths, without a trailing slash and not in capitals", async () => {
      await using test = await startService({ app: express() });
      for (const path of ["/health/", "/HEALTH", "/health/x"]) {
        expect((await request(test.url).get(path)).status, path).to.equal(404);
      }
      expect((await request(test.url).get("/health?full=1")).status).to.equal(200);
    });

    it("SYS-6 omit /info in prod: any method gets a 404, and the application may use the path", async () => {
      const env = { SVC_ENV: "prod" };
      await using test = await startService({ app: express(), env, toml: "drain_delay = 0\n" });
      expect((await request(test.url).get("/info")).status).to.equal(404);
      expect((await request(test.url).post("/info")).status).to.equal(404);
      await using own = await startService({
        app: express(),
        env,
        toml: "drain_delay = 0\n",
        routes: (app) => void app.get("/info", (_req, res) => void res.send("own")),
      });
      expect((await request(own.url).get("/info")).text).to.equal("own");
    });

    it("MET-8 are counted under their own paths, before and after the application's routes", async () => {
      await using behind = await startService({ app: express() });
      await using front = await startService({
        app: express(),
        routes: (app) => void app.get(star, (_req, res) => void res.send("app")),
      });
      for (const { url } of [behind, front]) {
        await request(url).get("/health");
        await request(url).post("/ready");
        const { text } = await request(url).get("/metrics");
        expect(text).to.match(/http_requests_total\{[^}]*endpoint="\/health"[^}]*status="200"[^}]*\} 1/);
        expect(text).to.match(
          /http_requests_total\{[^}]*endpoint="\/ready"[^}]*status="405"[^}]*\} |endpoint="\/\{\*rest\}"|endpoint="\*"/,
        );
      }
    });

    it("serve metrics at the path from the file", async () => {
      await using test = await startService({
        app: express(),
        toml: '[plugin.metrics]\npath = "/internal/metrics"\n',
      });
      expect((await request(test.url).get("/internal/metrics")).text).to.contain("http_requests_total");
      expect((await request(test.url).get("/metrics")).status).to.equal(404);
    });
  });
});
