import { expect } from "chai";
import { notFound, problemHandler } from "@svc/problem";
import { expressMajors, listen } from "@svc/test-support";
import type { ErrorRequestHandler, RequestHandler } from "express";
import { ask, serve, stacks } from "./support/stacks.ts";

for (const stack of stacks) {
  describe(`notFound on ${stack}`, () => {
    it("ERR-11 responds with a 404 problem to an unknown path", async () => {
      await using server = await serve(stack, (_req, _res, next) => next());
      const { status, body } = await ask(`${server.url}/nowhere?x=1`);
      expect(status).to.equal(404);
      expect(body).to.include({ title: "Not Found", status: 404, detail: "Not Found", instance: "/nowhere" });
    });
  });
}

const ok: RequestHandler = (_req, res) => void res.send("ok");

for (const [major, express] of Object.entries(expressMajors)) {
  describe(`notFound and the routes of ${major}`, () => {
    it("ERR-9 ERR-10 responds with 405 and Allow to a path that exists for another method", async () => {
      const app = express();
      app.all("/things", (_req, _res, next) => next());
      app.get("/things", ok);
      app.put("/things", ok);
      app.delete("/things/:id", ok);
      app.use(notFound(), problemHandler());
      await using server = await listen(app);
      const first = await ask(`${server.url}/things`, { method: "POST" });
      expect(first.status).to.equal(405);
      expect(first.headers.get("allow")).to.equal("GET, HEAD, PUT");
      expect(first.body).to.include({ title: "Method Not Allowed", instance: "/things" });
      expect((await ask(`${server.url}/things/1`)).headers.get("allow")).to.equal("DELETE");
      expect((await ask(`${server.url}/things/1/2`)).status).to.equal(404);
    });

    it("ERR-9 finds the methods of nested routers, of mount paths with parameters and of arrays of paths", async () => {
      const inner = express.Router();
      inner.get("/:id", ok);
      const outer = express.Router({ mergeParams: true });
      outer.use("/items", inner);
      outer.post(["/a", "/b"], ok);
      const app = express();
      app.use("/t/:tenant", outer);
      app.use(notFound(), problemHandler());
      await using server = await listen(app);
      const allow = async (path: string): Promise<string | null> =>
        (await ask(server.url + path, { method: "PATCH" })).headers.get("allow");
      expect(await allow("/t/acme/items/5")).to.equal("GET, HEAD");
      expect(await allow("/t/acme/b?x=1")).to.equal("POST");
      expect(await allow("/t/acme/c")).to.equal(null);
      expect(await allow("/items/5")).to.equal(null);
    });

    it("ERR-9 returns 405 and Allow inside a mounted application and inside a router", async () => {
      const sub = express();
      sub.post("/y", ok);
      sub.use(notFound());
      const router = express.Router();
      router.post("/z", ok);
      router.use(notFound());
      const app = express();
      app.use("/deep/sub/:x", sub);
      app.use("/r", router);
      app.use(problemHandler());
      await using server = await listen(app);
      expect((await ask(`${server.url}/deep/sub/1/y`)).headers.get("allow")).to.equal("POST");
      expect((await ask(`${server.url}/deep/sub/1/q`)).status).to.equal(404);
      expect((await ask(`${server.url}/r/z`)).headers.get("allow")).to.equal("POST");
    });

    it("ERR-9 ERR-10 finds the methods of a mounted application at each of its mounts", async () => {
      const nested = express.Router();
      nested.post("/z", ok);
      nested.use(notFound());
      const sub = (): ReturnType<typeof express> => {
        const app = express();
        app.get("/items/:id", ok);
        app.delete("/:only", ok);
        app.use("/nested", nested);
        app.use(notFound());
        return app;
      };
      const twice = sub();
      const deep = express();
      deep.use(["/k", "/l"], sub());
      const app = express();
      app.use("/v1", twice);
      app.use("/api/v2", twice);
      app.use(["/x", "/y/y"], sub());
      app.use(/^\/r\d+/, sub());
      app.use(["/m/:n", "/o"], deep);
      await using server = await listen(app);
      for (const mount of ["/v1", "/api/v2", "/x", "/y/y", "/r12", "/m/n/k", "/o/l"]) {
        const allow = async (path: string): Promise<string | null> =>
          (await ask(server.url + mount + path, { method: "PUT" })).headers.get("allow");
        expect(await allow("/items/1"), mount).to.equal("GET, HEAD");
        expect(await allow("/one?x=/items/1"), mount).to.equal("DELETE");
        expect(await allow("/nested/z"), mount).to.equal("POST");
        expect(await allow("/items/1/2"), mount).to.equal(null);
      }
    });

    it("ERR-11 returns 404 when a route for the method calls next()", async () => {
      const app = express();
      app.get("/maybe", (_req, _res, next) => next());
      app.use(notFound());
      await using server = await listen(app);
      expect((await ask(`${server.url}/maybe`)).status).to.equal(404);
      expect((await ask(`${server.url}/maybe`, { method: "HEAD" })).status).to.equal(404);
      expect((await ask(`${server.url}/maybe`, { method: "PUT" })).status).to.equal(405);
    });

    it("leaves OPTIONS requests for a known path to Express", async () => {
      const app = express();
      app.get("/known", ok);
      app.use(notFound());
      await using server = await listen(app);
      const known = await fetch(`${server.url}/known`, { method: "OPTIONS" });
      expect(known.status).to.equal(200);
      expect(known.headers.get("allow")).to.contain("GET");
      expect((await ask(`${server.url}/unknown`, { method: "OPTIONS" })).status).to.equal(404);
    });

    it("ERR-11 responds with 404 to a path that cannot be decoded", async () => {
      const app = express();
      app.get("/known/:id", ok);
      const passOn: ErrorRequestHandler = (error, _req, _res, next) => {
        expect(error).to.be.instanceOf(URIError);
        next();
      };
      app.use(passOn);
      app.use(notFound());
      await using server = await listen(app);
      expect((await ask(`${server.url}/known/%zz`)).status).to.equal(404);
    });
  });
}
