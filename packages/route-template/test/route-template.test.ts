import type { IncomingMessage, ServerResponse } from "node:http";
import { setRouteTemplate } from "@svc/context";
import { routeTemplateOf } from "@svc/route-template";
import { expressMajors, listen } from "@svc/test-support";
import { expect } from "chai";
import connect from "connect";
import type { Express } from "express";
import { templatesOf } from "./support/recorded-templates.ts";

function ok(_req: unknown, res: { end(text: string): void }): void {
  res.end("ok");
}

function boom(): never {
  throw new Error("boom");
}

type Next = (err?: unknown) => void;

function answerError(_err: unknown, _req: IncomingMessage, res: ServerResponse, _next: Next): void {
  res.statusCode = 500;
  res.end("sorry");
}

for (const [name, express] of Object.entries(expressMajors)) {
  const silent = (): Express => {
    const app = express();
    // Keep Express's final handler from printing stack traces.
    app.set("env", "test");
    return app;
  };

  describe(`routeTemplateOf on ${name}`, () => {
    it("MET-8 returns the path of a route as it was written", async () => {
      const app = silent().get("/", ok).get("/orders/:id", ok).post("/orders", ok);
      expect(
        await templatesOf(app, "/", "/orders/7?x=1", "/orders/8", "POST /orders", "HEAD /orders/7"),
      ).to.eql(["/", "/orders/:id", "/orders/:id", "/orders", "/orders/:id"]);
    });

    it("MET-8 includes the prefixes of nested and parameterised mounts", async () => {
      const items = express.Router({ mergeParams: true }).get("/:id", ok).get("/", ok);
      const tenant = express.Router({ mergeParams: true }).use("/items", items);
      const app = silent().use("/t/:tenant/", tenant).use("/plain", express.Router().get("/a.b", ok));
      expect(await templatesOf(app, "/t/acme/items/1", "/t/globex/items", "/plain/a.b")).to.eql([
        "/t/:tenant/items/:id",
        "/t/:tenant/items",
        "/plain/a.b",
      ]);
    });

    it("MET-9 returns undefined when no route has matched", async () => {
      const app = silent()
        .use("/closed", (_req, res) => void res.status(401).end())
        .get("/known", ok);
      expect(await templatesOf(app, "/closed/x", "/unknown", "/known")).to.eql([
        undefined,
        undefined,
        "/known",
      ]);
    });

    it("returns the route's template for errors that are thrown or passed to next(), even if Express handles them", async () => {
      const router = express
        .Router()
        .get("/boom/:id", boom)
        .get("/next/:id", (_req, _res, next) => next(new Error("later")));
      const handled = silent().use("/r/:tenant", router).use(answerError);
      const unhandled = silent().use("/r/:tenant", router);
      const wanted = ["/r/:tenant/boom/:id", "/r/:tenant/next/:id"];
      expect(await templatesOf(handled, "/r/a/boom/1", "/r/a/next/1")).to.eql(wanted);
      expect(await templatesOf(unhandled, "/r/a/boom/1", "/r/a/next/1")).to.eql(wanted);
    });

    it("includes the mounts of sub-applications, including nested ones", async () => {
      const inner = silent().get("/y/:id", ok);
      const sub = silent()
        .get("/x/:id", ok)
        .use("/inner", inner)
        .use("/router", express.Router().get("/z", ok));
      const app = silent().use("/sub/:version", sub).use("/other", silent().get("/o", ok)).get("/own", ok);
      expect(
        await templatesOf(app, "/sub/1/x/2", "/sub/1/inner/y/3", "/sub/1/router/z", "/other/o", "/own"),
      ).to.eql([
        "/sub/:version/x/:id",
        "/sub/:version/inner/y/:id",
        "/sub/:version/router/z",
        "/other/o",
        "/own",
      ]);
    });

    it("includes the mount of a sub-application when its first request fails", async () => {
      const sub = silent().get("/boom/:id", boom).get("/fine/:id", ok);
      const app = silent().use("/s/:tenant", sub).use(answerError);
      expect(await templatesOf(app, "/s/a/boom/1", "/s/a/fine/1", "/s/a/boom/2")).to.eql([
        "/s/:tenant/boom/:id",
        "/s/:tenant/fine/:id",
        "/s/:tenant/boom/:id",
      ]);
    });

    it("includes nested routers in the template of an error once the sub-application has served a request", async () => {
      const sub = silent().use("/deep", express.Router().get("/boom/:id", boom)).get("/fine", ok);
      const app = silent().use("/s", sub).use(answerError);
      expect(await templatesOf(app, "/s/deep/boom/1", "/s/fine", "/s/deep/boom/1")).to.eql([
        "/<mount>/boom/:id",
        "/s/fine",
        "/s/deep/boom/:id",
      ]);
    });

    it("includes all mounts when a mounted application handles the error of its sub-application", async () => {
      const inner = silent().get("/boom/:id", boom).get("/fine/:id", ok);
      const middle = silent().use("/inner/:b", inner).use(answerError);
      const app = silent().use(["/one/:a", "/two/:a"], middle);
      const paths = ["/one/1/inner/2/boom/3", "/two/1/inner/2/fine/3", "/two/1/inner/2/boom/3"];
      const wanted = ["/one/:a/inner/:b/boom/:id", "/two/:a/inner/:b/fine/:id", "/two/:a/inner/:b/boom/:id"];
      expect(await templatesOf(app, ...paths)).to.eql(wanted);
      expect(await templatesOf(app, ...paths)).to.eql(wanted);
    });

    it("distinguishes the mounts of a router that is mounted twice", async () => {
      const router = express.Router().get("/x/:id", ok).get("/boom", boom);
      const app = silent()
        .use("/a", router)
        .use("/b/:c", router)
        .use("/again", express.Router().use("/a", router));
      app.use(answerError);
      expect(
        await templatesOf(app, "/a/x/1", "/b/9/x/1", "/again/a/x/1", "/A/x/1", "/a/boom", "/b/9/boom"),
      ).to.eql(["/a/x/:id", "/b/:c/x/:id", "/again/a/x/:id", "/a/x/:id", "/a/boom", "/b/:c/boom"]);
    });

    it("distinguishes the mounts of an application that is mounted twice", async () => {
      const sub = silent().get("/x/:id", ok);
      const app = silent().use("/a/:b", sub).use("/c", sub);
      expect(await templatesOf(app, "/a/1/x/1", "/c/x/1")).to.eql(["/a/:b/x/:id", "/c/x/:id"]);
    });

    it("returns the mount path of the application that served the request, for a router that two applications share", async () => {
      const router = express.Router().get("/x", ok);
      const one = silent().use("/one", router);
      const two = silent().use("/two", router);
      expect(await templatesOf(one, "/one/x")).to.eql(["/one/x"]);
      expect(await templatesOf(two, "/two/x")).to.eql(["/two/x"]);
      expect(await templatesOf(one, "/one/x")).to.eql(["/one/x"]);
    });

    it("distinguishes the mounts of a router that an application and its sub-application share", async () => {
      const router = express.Router().get("/x/:id", ok).get("/boom/:id", boom);
      const app = silent().use("/a", router).use("/sub", silent().use("/b", router)).use(answerError);
      const paths = ["/a/x/1", "/sub/b/x/1", "/a/boom/1", "/sub/b/boom/1"];
      const wanted = ["/a/x/:id", "/sub/b/x/:id", "/a/boom/:id", "/sub/b/boom/:id"];
      expect(await templatesOf(app, ...paths)).to.eql(wanted);
      expect(await templatesOf(app, ...paths)).to.eql(wanted);
    });

    it("distinguishes the mounts of a router that two sub-applications share, even after an error", async () => {
      const router = express.Router().get("/x/:id", ok).get("/boom/:id", boom);
      const app = silent().use("/s", silent().use("/b", router)).use("/t", silent().use("/c", router));
      app.get("/own", ok).use(answerError);
      const wanted = ["/s/b/x/:id", "/t/c/x/:id", "/s/b/boom/:id", "/t/c/boom/:id", "/own"];
      const paths = ["/s/b/x/1", "/t/c/x/1", "/s/b/boom/1", "/t/c/boom/1", "/own"];
      expect(await templatesOf(app, ...paths)).to.eql(wanted);
      expect(await templatesOf(app, ...paths)).to.eql(wanted);
    });

    it("finds routes and mounts that are added after the first request", async () => {
      const router = express.Router().get("/first", ok);
      const app = silent().use("/r", router);
      expect(await templatesOf(app, "/r/first")).to.eql(["/r/first"]);
      router.get("/late/:id", ok);
      app.get("/later/:id", ok);
      app.use("/s", router);
      expect(await templatesOf(app, "/r/late/1", "/later/1", "/s/first", "/r/first")).to.eql([
        "/r/late/:id",
        "/later/:id",
        "/s/first",
        "/r/first",
      ]);
    });

    it("returns the path that matched, for a route or a mount with a list of paths", async () => {
      const app = silent().get(["/one", "/two/:id"], ok).use(["/m", "/n/:o"], express.Router().get("/x", ok));
      expect(await templatesOf(app, "/one", "/two/2", "/m/x", "/n/1/x")).to.eql([
        "/one",
        "/two/:id",
        "/m/x",
        "/n/:o/x",
      ]);
    });

    it("shows regular expressions as they were written", async () => {
      const app = silent()
        .get(/^\/files\/(.*)$/, ok)
        .use("/m", express.Router().get(/^\/v\d+$/, ok))
        .use(/^\/re\d+/, express.Router().get("/x", ok));
      expect(await templatesOf(app, "/files/a/b", "/m/v1", "/re7/x")).to.eql([
        String.raw`/^\/files\/(.*)$/`,
        String.raw`/m/^\/v\d+$/`,
        String.raw`/^\/re\d+//x`,
      ]);
    });

    it("uses the mount path of a function that wraps a router if the URL matches", async () => {
      const router = express.Router().get("/x/:id", ok);
      const deep = express.Router().use("/deep", router);
      const app = silent();
      app.use("/f/:t", (req, res, next) => router(req, res, next));
      app.use("/g", (req, res, next) => deep(req, res, next));
      expect(await templatesOf(app, "/f/a/x/1", "/g/deep/x/secret", "/f/b/x/1")).to.eql([
        "/f/:t/x/:id",
        "/<mount>/x/:id",
        "/f/:t/x/:id",
      ]);
    });

    it("uses the URL that a middleware has rewritten before routing", async () => {
      const router = express.Router().get("/x", ok);
      const app = silent();
      app.use((req, _res, next) => {
        req.url = req.url.replace(/^\/t\/\w+/, "");
        next();
      });
      app.use("/a", router).use("/b", router);
      expect(await templatesOf(app, "/t/acme/a/x", "/t/acme/b/x")).to.eql(["/a/x", "/b/x"]);
    });

    it("returns a template for a router that contains itself", async () => {
      const router = express.Router();
      router.get("/leaf/:id", ok).use("/down", router);
      const app = silent().use("/r", router);
      expect(await templatesOf(app, "/r/leaf/1", "/r/down/leaf/1")).to.eql(["/r/leaf/:id", "/r/leaf/:id"]);
    });

    it("stops searching at its limit when nested mounts give a million paths", async () => {
      let router = express.Router().get("/leaf/:id", ok);
      for (let level = 0; level < 20; level++) {
        router = express.Router().use("/x", router).use("/y", router);
      }
      const app = silent().use(router).get("/after/:id", ok);
      const found = await templatesOf(
        app,
        "/x".repeat(20) + "/leaf/1",
        "/y".repeat(20) + "/leaf/1",
        "/after/1",
      );
      expect(found).to.eql(["/x".repeat(20) + "/leaf/:id", "/<mount>/leaf/:id", "/after/:id"]);
    });

    it("MET-10 returns at most one value per mounted route for any URL", async () => {
      const router = express.Router().get("/x/:id", ok).get("/boom/:id", boom);
      const sub = silent().get("/y/:id", ok).get("/bang/:id", boom);
      const app = silent().use("/a/:t", router).use("/b/:t", router).use("/s/:t", sub).use("/u/:t", sub);
      const paths = ["/a/%/x/%", "/b/%/boom/%", "/s/%/y/%", "/u/%/bang/%", "/%", "/a/%", "//%//x"];
      const asked = Array.from({ length: 20 }, (_, n) => paths.map((path) => path.replaceAll("%", `v${n}`)));
      const found = new Set(await templatesOf(app, ...asked.flat()));
      expect([...found]).to.have.members([
        "/a/:t/x/:id",
        "/b/:t/boom/:id",
        "/s/:t/y/:id",
        "/u/:t/bang/:id",
        undefined,
      ]);
    });

    it("accepts a URL in absolute form", async () => {
      const router = express.Router().get("/x", ok);
      const app = silent().use("/a", router).use("/b", router);
      expect(await templatesOf(app, "http://example.test/b/x?y=/a/x")).to.eql(["/b/x"]);
    });
  });
}

describe("routeTemplateOf with Express 4 paths", () => {
  const express = expressMajors["express 4"];

  it("reconstructs mount paths from their regular expressions", async () => {
    const router = express.Router().get("/x", ok);
    for (const [path, url, wanted] of [
      ["/:lang?/docs", "/docs/x", "/:lang?/docs/x"],
      ["/v:major(\\d+).:minor", "/v1.2/x", "/v:major.:minor/x"],
      ["/:kind((a|b))/y", "/a/y/x", "/:kind/y/x"],
      ["/a.b-c_d", "/a.b-c_d/x", "/a.b-c_d/x"],
      ["/:from-:to", "/1-2/x", "/:from-:to/x"],
    ] as const) {
      const app = express().use(path, router);
      expect(await templatesOf(app, url), path).to.eql([wanted]);
    }
  });

  it("shows the wildcard and the optional segment of a route", async () => {
    const swallowed = express().use("/any/*", express.Router().get("/", ok));
    expect(await templatesOf(swallowed, "/any/thing/x")).to.eql(["/any/*"]);
    const app = express().get("/w/*", ok).get("/o/:p?", ok).get("*", ok);
    expect(await templatesOf(app, "/w/a/b", "/o", "/else/where")).to.eql(["/w/*", "/o/:p?", "/*"]);
  });
});

describe("routeTemplateOf with Express 5 paths", () => {
  const express = expressMajors["express 5"];

  it("shows the wildcard and the optional group of routes and mounts", async () => {
    const router = express.Router().get("/x", ok).get("{/:opt}", ok);
    const app = express().use("/m{/:lang}", router).use("/n", router).get("/w/*rest", ok);
    expect(await templatesOf(app, "/m/de/x", "/n/x", "/n/1", "/w/a/b")).to.eql([
      "/m{/:lang}/x",
      "/n/x",
      "/n{/:opt}",
      "/w/*rest",
    ]);
  });
});

describe("routeTemplateOf", () => {
  it("returns undefined on a server without Express", async () => {
    expect(await templatesOf((_req, res) => res.end("ok"), "/x/1")).to.eql([undefined]);
  });

  it("omits the mount path when another framework mounts the application", async () => {
    const app = expressMajors["express 5"]().get("/x/:id", ok);
    const outer = connect();
    outer.use("/outer", (req, res, next) => void app(req as never, res as never, next));
    expect(await templatesOf(outer, "/outer/x/1")).to.eql(["/x/:id"]);
  });

  it("uses a placeholder when the mount of a router without an application is unknown", async () => {
    const router = expressMajors["express 5"].Router().get("/x/:id", ok);
    const outer = expressMajors["express 5"].Router().use("/outer", router);
    const finish = (): void => undefined;
    expect(
      await templatesOf((req, res) => void outer(req as never, res as never, finish), "/outer/x/1"),
    ).to.eql(["/<mount>/x/:id"]);
    expect(await templatesOf((req, res) => void router(req as never, res as never, finish), "/x/1")).to.eql([
      "/x/:id",
    ]);
  });

  it("uses a placeholder for a mount whose path the router does not store", async () => {
    const express = expressMajors["express 5"];
    const app = express().use("/secret", express.Router().get("/x", ok));
    // Routers before 2.3 have no rawPath.
    for (const layer of app.router.stack) Reflect.deleteProperty(layer, "rawPath");
    expect(await templatesOf(app, "/secret/x")).to.eql(["/<mount>/x"]);
  });

  it("ignores a route property that is not a route", () => {
    for (const route of [null, "x", 7]) {
      expect(routeTemplateOf({ route, url: "/raw" } as never)).to.equal(undefined);
    }
  });
});

describe("setRouteTemplate", () => {
  it("MET-8 sets the template of a request that no Express route handles", async () => {
    const app = expressMajors["express 5"]();
    app.use((req, res) => {
      setRouteTemplate(req, "/fixed");
      res.end(routeTemplateOf(req));
    });
    await using server = await listen(app);
    expect(await (await fetch(`${server.url}/fixed`)).text()).to.equal("/fixed");
  });

  it("is overridden by a route that matches later", async () => {
    const app = expressMajors["express 5"]();
    app.use((req, _res, next) => {
      setRouteTemplate(req, "/fixed");
      next();
    });
    app.get("/items/:id", (req, res) => void res.end(routeTemplateOf(req)));
    await using server = await listen(app);
    expect(await (await fetch(`${server.url}/items/1`)).text()).to.equal("/items/:id");
  });
});
