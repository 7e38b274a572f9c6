import { describeGuard, type Middleware } from "@svc/context";
import { route } from "@svc/openapi";
import { notFound, ProblemError } from "@svc/problem";
import { routesOf, routeTemplateOf } from "@svc/route-template";
import { listen, rawRequest } from "@svc/test-support";
import { expect } from "chai";
import { type } from "arktype";
import type { NextFunction, Request, RequestHandler, Response } from "express";
import * as v from "valibot";
import { z } from "zod";
import { ask, majors, serve } from "./support/served.ts";

const Item = z.strictObject({
  name: z.string().min(1),
  price: z.number(),
  tags: z.array(z.string()).optional(),
});

describe("route()", () => {
  for (const [major, express] of majors) {
    describe(`on ${major}`, () => {
      it("runs the handler with the validated values, with types from the schemas", async () => {
        const described = route(
          {
            method: "post",
            path: "/shops/:shop/items",
            request: {
              params: z.object({ shop: z.number().int() }),
              query: z.object({ dry: z.boolean().default(false), tag: z.array(z.string()) }),
              headers: z.object({ "x-kind": z.string() }),
              body: Item,
            },
          },
          ({ params, query, headers, body }, _req, res) => {
            const shop: number = params.shop;
            const dry: boolean = query.dry;
            const price: number = body.price;
            // @ts-expect-error: the schema has no such member
            const unknown: unknown = body.colour;
            res.status(201).json({ shop, dry, tag: query.tag, kind: headers["x-kind"], price, unknown });
          },
        );
        await using server = await serve(express, (app) => app.use(described));
        const response = await fetch(`${server.url}/Shops/7/items/?dry=true&tag=a&tag=b`, {
          method: "POST",
          body: JSON.stringify({ name: "pen", price: 2 }),
          headers: { "Content-Type": "application/json", "X-Kind": "new" },
        });
        expect(response.status).to.equal(201);
        expect(await response.json()).to.deep.equal({
          shop: 7,
          dry: true,
          tag: ["a", "b"],
          kind: "new",
          price: 2,
        });
      });

      it("ERR-15 returns 422 with the faults of all parts, before the handler runs", async () => {
        let calls = 0;
        const described = route(
          {
            method: "POST",
            path: "/items/:id",
            request: { params: z.object({ id: z.number() }), query: z.strictObject({}), body: Item },
          },
          (_valid, _req, res) => {
            calls++;
            res.json({});
          },
        );
        await using server = await serve(express, (app) => app.use(described));
        const { status, body } = await ask(`${server.url}/items/x?page=1`, "POST", { name: "", size: 1 });
        expect(status).to.equal(422);
        expect(body.detail).to.equal("Request validation failed");
        expect(body.errors.map(({ type, loc }: { type: string; loc: unknown }) => [type, loc])).to.deep.equal(
          [
            ["invalid_type", ["path", "id"]],
            ["unknown", ["query", "page"]],
            ["too_small", ["body", "name"]],
            ["missing", ["body", "price"]],
            ["unknown", ["body", "size"]],
          ],
        );
        expect(body.errors[0].input).to.equal("x");
        expect(calls).to.equal(0);
      });

      it("passes other methods and paths to the next handler, and handles HEAD and OPTIONS like a route of Express", async () => {
        const described = route({ method: "GET", path: "/a/:b" }, (_valid, _req, res) =>
          res.json({ ok: true }),
        );
        await using server = await serve(express, (app) => {
          app.use(described);
          app.use(notFound());
        });
        expect((await ask(`${server.url}/a/1`)).body).to.deep.equal({ ok: true });
        expect((await ask(`${server.url}/a/1`, "HEAD")).status).to.equal(200);
        expect((await ask(`${server.url}/a`)).status).to.equal(404);
        expect((await ask(`${server.url}/a/1/2`)).status).to.equal(404);
        expect((await ask(`${server.url}/a//`)).status).to.equal(404);
        const { status, headers } = await ask(`${server.url}/a/1`, "DELETE");
        expect([status, headers.get("allow")]).to.deep.equal([405, "GET, HEAD"]);
        const options = await ask(`${server.url}/a/1`, "OPTIONS");
        expect([options.status, options.headers.get("allow"), options.body]).to.deep.equal([
          200,
          "GET, HEAD",
          "GET, HEAD",
        ]);
        expect((await ask(`${server.url}/b`, "OPTIONS")).status).to.equal(404);
        expect((await ask(`${server.url}/a/%zz`)).status).to.equal(400);
      });

      it("can be used in several routers, and reports its template below each of them", async () => {
        const described = route({ method: "GET", path: "/items/:id" }, (_valid, req, res) =>
          res.json([routeTemplateOf(req), (req as { params?: unknown }).params]),
        );
        const one = express.Router().use(described);
        const two = express.Router({ mergeParams: true }).use(described);
        await using server = await serve(express, (app) => {
          app.use("/one", one);
          app.use("/t/:tenant", two);
          expect(routesOf(app).map(({ method, path }) => `${method} ${path}`)).to.deep.equal([
            "GET /one/items/:id",
            "GET /t/:tenant/items/:id",
          ]);
        });
        expect((await ask(`${server.url}/one/items/1`)).body).to.deep.equal(["/one/items/:id", { id: "1" }]);
        expect((await ask(`${server.url}/t/acme/items/1`)).body).to.deep.equal([
          "/t/:tenant/items/:id",
          { tenant: "acme", id: "1" },
        ]);
      });

      it("runs `before` first, and passes its errors and the handler's errors to next()", async () => {
        const steps: string[] = [];
        const guard: Middleware = (req, _res, next) => {
          steps.push("guard");
          next(req.headers["x-in"] === undefined ? new ProblemError(401) : undefined);
        };
        const slow = (async (_req: unknown, _res: unknown, next: () => void) => {
          await Promise.resolve();
          steps.push("slow");
          next();
        }) as unknown as Middleware;
        const described = route(
          {
            method: "GET",
            path: "/",
            before: [guard, slow],
            request: { query: z.strictObject({ n: z.number() }) },
          },
          async ({ query }, _req, res) => {
            await Promise.resolve();
            if (query.n === 13) throw new ProblemError(409, "thirteen");
            res.json(query);
          },
        );
        await using server = await serve(express, (app) => app.use(described));
        const status = async (
          query: string,
          headers: Record<string, string> = { "x-in": "1" },
        ): Promise<number> => (await fetch(`${server.url}/${query}`, { headers })).status;
        expect(await status("?n=x", {})).to.equal(401);
        expect(await status("?n=x")).to.equal(422);
        expect(await status("?n=13")).to.equal(409);
        expect(await status("?n=12")).to.equal(200);
        expect(steps).to.deep.equal(["guard", "guard", "slow", "guard", "slow", "guard", "slow"]);
      });

      it("accepts the middleware of Express in `before`", async () => {
        const steps: string[] = [];
        const counts: RequestHandler = (req, _res, next) => {
          steps.push(req.path);
          next();
        };
        const tags = async (_req: Request, res: Response, next: NextFunction): Promise<void> => {
          await Promise.resolve();
          res.locals["tag"] = "a";
          next();
        };
        await using server = await serve(express, (app) => {
          for (const [at, before] of [counts, tags, [counts, tags]].entries())
            app.use(
              route({ method: "GET", path: `/${at}`, before }, (_valid, _req, res: Response) =>
                res.json(res.locals),
              ),
            );
          // @ts-expect-error: middleware has no number as its first parameter
          route({ method: "GET", path: "/", before: (_count: number) => undefined }, () => undefined);
        });
        const bodies = await Promise.all(
          ["/0", "/1", "/2"].map(async (path) => (await ask(server.url + path)).body),
        );
        expect(bodies).to.deep.equal([{}, { tag: "a" }, { tag: "a" }]);
        expect(steps).to.have.members(["/0", "/2"]);
      });

      it("returns 403 or 404, never 200, for request targets that could bypass a guard's path in Express", async () => {
        const described = route({ method: "GET", path: "/admin/secret" }, (_valid, _req, res) =>
          res.json({}),
        );
        await using server = await serve(express, (app) => {
          app.use("/admin", (_req, _res, next) => next(new ProblemError(403)));
          app.use(described);
        });
        for (const target of [
          "/admin/secret",
          "http://x/admin/secret",
          "javascript://x/admin/secret",
          "http://x;y/admin/secret",
        ]) {
          const request = `GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
          const { status } = await rawRequest(server.port, request);
          expect(status, target).to.be.oneOf([403, 404]);
        }
      });

      it("continues after next(null), and leaves the router after next('router')", async () => {
        const proceed = ((_req: unknown, _res: unknown, next: (error: unknown) => void) =>
          next(null)) as Middleware;
        const leave: Middleware = (_req, _res, next) => next("router");
        const router = express.Router();
        router.use(
          route({ method: "GET", path: "/null", before: proceed }, (_valid, _req, res) =>
            res.json({ ok: true }),
          ),
        );
        router.use(
          route({ method: "GET", path: "/left", before: leave }, (_valid, _req, res) => res.json({})),
        );
        router.get("/left", (_req, res) => void res.json({ inside: true }));
        await using server = await serve(express, (app) => {
          app.use(router);
          app.get("/left", (_req, res) => void res.json({ outside: true }));
        });
        expect((await ask(`${server.url}/null`)).body).to.deep.equal({ ok: true });
        expect((await ask(`${server.url}/left`)).body).to.deep.equal({ outside: true });
      });

      it("restores req.route and req.params when the handler calls next()", async () => {
        const described = route({ method: "GET", path: "/items/:id" }, (_valid, _req, _res, next) => next());
        await using server = await serve(express, (app) => {
          app.use(described);
          app.get("/items/:other", (req, res) => void res.json([routeTemplateOf(req), req.params]));
        });
        const { body } = await ask(`${server.url}/items/1`);
        expect(body).to.deep.equal(["/items/:other", { other: "1" }]);
      });

      it("returns 500 when a schema throws, rejects or takes longer than a second", async () => {
        const failing = (validate: () => never | Promise<never>) => ({
          "~standard": { version: 1 as const, vendor: "test", validate },
        });
        const schemas = [
          failing(() => {
            throw new Error("broken");
          }),
          failing(() => Promise.reject(new Error("broken"))),
          failing(() => new Promise<never>(() => undefined)),
        ];
        await using server = await serve(express, (app) => {
          for (const [at, body] of schemas.entries())
            app.use(
              route({ method: "POST", path: `/${at}`, request: { body } }, (_valid, _req, res) =>
                res.json({}),
              ),
            );
        });
        const statuses = await Promise.all(
          schemas.map(async (_schema, at) => (await ask(`${server.url}/${at}`, "POST", {})).status),
        );
        expect(statuses).to.deep.equal([500, 500, 500]);
      });

      it("accepts schemas of valibot and arktype, and a JSON Schema with a validator", async () => {
        const schemas = {
          valibot: v.object({ n: v.number() }),
          arktype: type({ n: "number" }),
          described: { schema: { type: "object" }, validator: z.object({ n: z.number() }) },
        };
        await using server = await serve(express, (app) => {
          for (const [name, body] of Object.entries(schemas))
            app.use(
              route({ method: "POST", path: `/${name}`, request: { body } }, (valid, _req, res) =>
                res.json(valid.body),
              ),
            );
          app.use(
            route(
              { method: "POST", path: "/schema", request: { body: { schema: { type: "object" } } } },
              (valid, _req, res) => res.json({ body: valid.body === undefined }),
            ),
          );
        });
        for (const name of Object.keys(schemas)) {
          expect((await ask(`${server.url}/${name}`, "POST", { n: 1 })).body, name).to.deep.equal({ n: 1 });
          const { status, body } = await ask(`${server.url}/${name}`, "POST", { n: "x" });
          expect([status, body.errors[0].loc], name).to.deep.equal([422, ["body", "n"]]);
        }
        expect((await ask(`${server.url}/schema`, "POST", { n: "x" })).body).to.deep.equal({ body: true });
      });
    });
  }

  it("matches its path and decodes parameters on a server without Express", async () => {
    const described = route({ method: "GET", path: "/a/:b" }, (_valid, req, res) =>
      res.end(JSON.stringify((req as { params?: unknown }).params)),
    );
    await using server = await listen((req, res) => described(req, res, () => res.writeHead(404).end()));
    expect((await ask(`${server.url}/a/%C3%A4`)).body).to.deep.equal({ b: "ä" });
    expect((await ask(`${server.url}/b`)).status).to.equal(404);
  });

  it("returns its guards and its description to tools", () => {
    const guard = describeGuard("scopes", ["items:read"], (_req, _res, next) => next());
    const described = route({ method: "GET", path: "/a", before: guard }, () => undefined);
    const router = majors[1]?.[1].Router().use(described);
    const [found] = routesOf(router);
    expect(found?.guards).to.deep.equal([{ kind: "scopes", values: ["items:read"] }]);
    expect(found?.handlers).to.have.length(2);
  });

  it("rejects an invalid description", () => {
    const handler = (): void => undefined;
    const wrong: [object, RegExp][] = [
      [{ method: "FETCH", path: "/" }, /method must be an HTTP method such as GET; got "FETCH"/],
      [{ method: "GET", path: "items" }, /path must consist of fixed segments and parameters/],
      [{ method: "GET", path: "/a{/:b}" }, /path must consist of/],
      [{ method: "GET", path: "/:a/:a" }, /parameters with different names/],
      [{ method: "GET", path: "/", sumary: "" }, /sumary is unknown; expected one of method, path/],
      [{ method: "GET", path: "/", request: { query: {} } }, /request\.query must be a Standard Schema/],
      [{ method: "GET", path: "/", request: { form: Item } }, /request\.form is unknown/],
      [{ method: "GET", path: "/", request: { params: Item } }, /request\.params needs a parameter in path/],
      [{ method: "GET", path: "/", responses: { 99: "" } }, /responses\.99 must be a status from 100 to 599/],
      [{ method: "GET", path: "/", responses: { 200: { body: 1 } } }, /responses\.200\.body must be/],
      [{ method: "GET", path: "/", examples: { form: 1 } }, /examples\.form is unknown/],
      [
        { method: "PUT", path: "/", requestBodies: { csv: Item } },
        /requestBodies must be by content type, such as/,
      ],
      [{ method: "GET", path: "/", errorBodies: { "text/html": 1 } }, /errorBodies text\/html/],
      [
        { method: "GET", path: "/", responses: { 200: { bodies: { "": Item } } } },
        /responses\.200\.bodies must be/,
      ],
      [{ method: "GET", path: "/", before: "guard" }, /before must be a middleware/],
      [{ method: "GET" }, /path must be a string; got undefined/],
      [{ method: "GET", path: 5 }, /path must be a string; got 5/],
      [{ method: "GET", path: "/", request: null }, /request must be an object/],
      [{ method: "GET", path: "/", examples: null }, /examples must be an object/],
      [{ method: "GET", path: "/", requestBodies: null }, /requestBodies must be an object/],
      [{ method: "GET", path: "/", responses: [] }, /responses must be an object/],
      [{ method: "GET", path: "/", responses: { 404: undefined } }, /responses\.404 must be a string or an/],
      [{ method: "GET", path: "/", responses: { 404: 5 } }, /responses\.404 must be a string or an object/],
      [{ method: "GET", path: "/", responses: { 200: { header: {} } } }, /responses\.200\.header is unknown/],
      [
        { method: "GET", path: "/", responses: { 200: { headers: null } } },
        /responses\.200\.headers must be an object/,
      ],
      [
        { method: "GET", path: "/", responses: { 200: { headers: { "X-A": null } } } },
        /responses\.200\.headers\.X-A must be a string or an object/,
      ],
      [{ method: "GET", path: "/", summary: 5 }, /summary must be a string/],
      [{ method: "GET", path: "/", deprecated: "no" }, /deprecated must be true or false/],
      [{ method: "GET", path: "/", tags: "a" }, /tags must be a list/],
      [{ method: "GET", path: "/", security: {} }, /security must be a list/],
    ];
    for (const [description, text] of wrong)
      expect(() => route(description as never, handler), JSON.stringify(description)).to.throw(
        TypeError,
        text,
      );
    expect(() => route(undefined as never, handler)).to.throw(TypeError, "the description must be an object");
    expect(() => route({ method: "GET", path: "/" }, undefined as never)).to.throw(
      TypeError,
      "handler must be",
    );
  });
});
