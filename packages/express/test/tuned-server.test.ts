import { IncomingMessage, ServerResponse } from "node:http";
import { expect } from "chai";
import type { Express, Request, Response } from "express";
import request from "supertest";
import { onBothMajors } from "./support/majors.ts";
import { makeService, startService } from "./support/test-service.ts";

/** Returns the requests and responses whose prototype `Object.setPrototypeOf()` changes during `run`. */
async function changesOfPrototype(run: () => Promise<void>): Promise<object[]> {
  const original = Object.setPrototypeOf.bind(Object);
  const changed: object[] = [];
  Object.setPrototypeOf = (target: object, prototype: object | null) => {
    if (Object.getPrototypeOf(target) !== prototype) changed.push(target);
    return original(target, prototype) as object;
  };
  try {
    await run();
  } finally {
    Object.setPrototypeOf = original;
  }
  return changed.filter((each) => each instanceof IncomingMessage || each instanceof ServerResponse);
}

describe("the tuned server", () => {
  onBothMajors((express) => {
    it("creates requests and responses that are instances of Node's classes and inherit from app.request and app.response", async () => {
      let seen: { req: Request; res: Response } | undefined;
      await using test = await startService({
        app: express(),
        routes: (app) => {
          app.get("/", (req, res) => {
            seen = { req, res };
            res.json({
              app: req.app === app,
              resApp: res.app === app,
              crossed: req.res === res && res.req === req,
            });
          });
        },
      });
      const { body } = await request(test.url).get("/");
      expect(body).to.deep.equal({ app: true, resApp: true, crossed: true });
      expect(seen?.req).to.be.instanceOf(IncomingMessage);
      expect(seen?.res).to.be.instanceOf(ServerResponse);
      expect(Object.getPrototypeOf(seen?.req)).to.equal(test.service.app.request);
      expect(Object.getPrototypeOf(seen?.res)).to.equal(test.service.app.response);
    });

    it("creates requests and responses with the application's prototypes, before Express handles them", async () => {
      await using test = await startService({ app: express() });
      const born: unknown[] = [];
      test.service.server.prependListener("request", (req, res) => {
        born.push(Object.getPrototypeOf(req), Object.getPrototypeOf(res));
      });
      await request(test.url).get("/health");
      expect(born).to.deep.equal([test.service.app.request, test.service.app.response]);
      expect(born[0]).to.equal(test.service.app.request);
    });

    it("does not change the prototypes of a request and response while serving them", async () => {
      await using test = await startService({
        app: express(),
        routes: (app) => {
          app.get("/", (_req, res) => void res.json({}));
        },
      });
      const changed = await changesOfPrototype(async () => {
        for (const path of ["/", "/nowhere", "/health"]) await request(test.url).get(path);
      });
      expect(changed).to.deep.equal([]);
    });

    it("creates requests and responses with the application's extensions, made before or after the service was created", async () => {
      const app = express();
      Object.assign(app.request, { before: () => "before" });
      await using test = await startService({
        app,
        routes: (own) => {
          Object.assign(own.response, { after: () => "after" });
          own.get("/", (req, res) => {
            const added = { ...probe(req, "before"), ...probe(res, "after") };
            res.json(added);
          });
        },
      });
      expect((await request(test.url).get("/")).body).to.deep.equal({ before: "before", after: "after" });
    });

    it("gives a mounted application its own req.app and its parent's extensions", async () => {
      await using test = await startService({
        app: express(),
        routes: (app) => {
          Object.assign(app.request, { parental: () => "yes" });
          const inner = express();
          inner.get("/x", (req, res) => void res.json({ own: req.app === inner, ...probe(req, "parental") }));
          app.use("/inner", inner);
          app.get("/outer", (req, res) => void res.json({ own: req.app === app }));
        },
      });
      expect((await request(test.url).get("/inner/x")).body).to.deep.equal({ own: true, parental: "yes" });
      expect((await request(test.url).get("/outer")).body).to.deep.equal({ own: true });
    });

    it("leaves the application usable with supertest and inside another application", async () => {
      const made = await makeService({
        app: express(),
        routes: (app: Express) => {
          app.get("/", (req, res) => void res.json({ own: req.app === app, path: req.baseUrl }));
        },
      });
      const alone = await request(made.service.app).get("/");
      expect(alone.body).to.deep.equal({ own: true, path: "" });
      expect(alone.headers["x-request-id"]).to.be.a("string");
      const outer = express();
      outer.use("/in", made.service.app);
      const inside = await request(outer).get("/in/");
      expect(inside.body).to.deep.equal({ own: true, path: "/in" });
      await made.service.stop();
    });
  });
});

function probe(holder: object, name: string): object {
  const method = (holder as Record<string, unknown>)[name];
  return { [name]: typeof method === "function" ? (method.call(holder) as unknown) : undefined };
}
