import { optionalAuth, requireAuth, requireRoles, requireScopes } from "@svc/jwt-auth";
import { requireContentType } from "@svc/json-body";
import {
  describe as describeApp,
  describes,
  documentOf,
  openapi,
  type OpenApiDocument,
  route,
  type Schema,
} from "@svc/openapi";
import { ConfigurationError } from "@svc/options";
import { collectingLogger } from "@svc/test-support";
import { type } from "arktype";
import { expect } from "chai";
import * as v from "valibot";
import { z } from "zod";
import { ask, majors, serve } from "./support/served.ts";

const info = { title: "Shop", version: "1.2.3" };
const Item = z.object({ id: z.string(), price: z.number() }).meta({ id: "Item" });

// eslint-disable-next-line @typescript-eslint/no-explicit-any
const operation = (document: OpenApiDocument, path: string, method: string): any =>
  document.paths[path]?.[method];

describe("openapi()", () => {
  for (const [major, express] of majors) {
    describe(`on ${major}`, () => {
      it("DOC-1 lists every route, described or not, sorted by path and method", () => {
        const app = express();
        app.get("/zoo/:id", (_req, res) => void res.json({}));
        app.use(
          "/t/:tenant",
          express.Router().use(route({ method: "POST", path: "/items" }, () => undefined)),
        );
        app.get(/^\/old/, (_req, res) => void res.json({}));
        app.options("/zoo/:id", (_req, res) => void res.json({}));
        app.all("/any", (_req, res) => void res.json({}));
        if (major === "express 5") app.get("/optional{/:part}", (_req, res) => void res.json({}));
        else app.get("/optional/:part?", (_req, res) => void res.json({}));
        const document = describeApp(app, { info });
        const listed = Object.entries(document.paths).map(([path, item]) => [path, ...Object.keys(item)]);
        expect(listed).to.deep.equal([
          ["/any", "delete", "get", "patch", "post", "put"],
          ["/optional", "get"],
          ["/optional/{part}", "get"],
          ["/t/{tenant}/items", "post"],
          ["/zoo/{id}", "get"],
        ]);
        expect(document["x-unlisted"]).to.deep.equal(["GET /^\\/old/"]);
        expect(operation(document, "/zoo/{id}", "get").operationId).to.equal("getZooById");
        expect(operation(document, "/zoo/{id}", "get").parameters[0]).to.deep.equal({
          name: "id",
          in: "path",
          required: true,
          schema: { type: "string" },
        });
        expect(JSON.stringify(describeApp(app, { info }))).to.equal(JSON.stringify(document));
      });

      it("DOC-1 serves the document with an ETag, and generates it again after routes were added", async () => {
        let add: () => void = () => undefined;
        await using server = await serve(express, (app) => {
          app.use(
            openapi({
              title: "Shop",
              version: "1.2.3",
              description: "Sells.",
              servers: ["https://shop.test"],
            }),
          );
          app.get("/a", (_req, res) => void res.json({}));
          const router = express.Router();
          app.use("/r", router);
          add = () => void router.get("/late", (_req, res) => void res.json({}));
        });
        const first = await ask(`${server.url}/openapi.json`);
        expect(first.status).to.equal(200);
        expect(first.headers.get("content-type")).to.equal("application/json");
        expect(first.headers.get("cache-control")).to.equal("no-cache");
        expect(first.body.info).to.deep.equal({ ...info, description: "Sells." });
        expect(first.body.servers).to.deep.equal([{ url: "https://shop.test" }]);
        const etag = first.headers.get("etag") ?? "";
        for (const known of [`"x", ${etag}`, `W/${etag}`, "*"]) {
          const headers = { "If-None-Match": known };
          const again = await fetch(`${server.url}/openapi.json`, { headers });
          expect([again.status, await again.text()], known).to.deep.equal([304, ""]);
        }
        const head = await ask(`${server.url}/openapi.json`, "HEAD");
        expect(head.headers.get("content-length")).to.equal(first.headers.get("content-length"));
        add();
        const later = await ask(`${server.url}/openapi.json`);
        expect(Object.keys(later.body.paths)).to.deep.equal(["/a", "/r/late"]);
        expect(later.headers.get("etag")).to.not.equal(etag);
      });

      it("DOC-2 DOC-3 serves neither the document nor the page when both are disabled", async () => {
        await using server = await serve(express, (app) => app.use(openapi({ openapi: false, docs: false })));
        for (const path of ["/openapi.json", "/docs", "/docs/docs.js"])
          expect((await ask(server.url + path)).status, path).to.equal(404);
      });

      it("DOC-3 serves the page and its files with a policy that allows only them", async () => {
        await using server = await serve(express, (app) => {
          app.use(openapi({ docsPath: "/handbook" }));
          app.get("/a<b", (_req, res) => void res.json({}));
        });
        const page = await ask(`${server.url}/handbook`);
        expect(page.status).to.equal(200);
        expect(page.headers.get("content-type")).to.equal("text/html; charset=utf-8");
        expect(page.headers.get("content-security-policy")).to.contain("script-src 'self'");
        for (const file of ["docs.js", "docs.css"]) {
          expect(page.body).to.contain(`/handbook/${file}`);
          expect((await ask(`${server.url}/handbook/${file}`)).status).to.equal(200);
        }
      });

      it("logs each difference between a response and its description once", async () => {
        const logger = collectingLogger();
        await using server = await serve(express, (app) => {
          app.use(openapi({ logger }));
          const responses = {
            200: { body: z.strictObject({ amount: z.string(), token: z.string().optional() }) },
          };
          app.use(
            route({ method: "GET", path: "/items/:id", responses }, (_valid, req, res) => {
              const { id } = (req as unknown as { params: { id: string } }).params;
              if (id === "right") res.json({ amount: "1" });
              else if (id === "status") res.status(418).json({});
              else if (id === "secret") res.json({ amount: "1", token: 7 });
              else res.json({ amount: 1 });
            }),
          );
        });
        for (const id of ["right", "wrong", "wrong", "status", "secret"])
          await ask(`${server.url}/items/${id}`);
        await ask(`${server.url}/items/wrong`, "HEAD");
        const prefix = "an answer of GET /items/{id} is not as described:";
        expect(logger.lines.map(({ level, message }) => [level, message])).to.deep.equal([
          ["warn", `${prefix} 200 body /amount Invalid input: expected string, received number`],
          ["warn", `${prefix} status 418 is not described`],
          ["warn", `${prefix} 200 body /token is invalid`],
        ]);
      });

      it("ignores statuses without a description, and leaves every response unchanged even if the logger throws", async () => {
        const broken = (): never => {
          throw new Error("no disk");
        };
        const logger = { debug: broken, info: broken, warn: broken, error: broken, fatal: broken };
        const responses = { 200: { body: z.object({ n: z.number() }) } };
        await using server = await serve(express, (app) => {
          app.use(openapi({ logger }));
          app.use(route({ method: "GET", path: "/any" }, (_valid, _req, res) => res.status(202).json({})));
          app.use(
            route({ method: "GET", path: "/wrong", responses }, (_valid, _req, res) => res.json({ n: "1" })),
          );
        });
        expect((await ask(`${server.url}/any`)).status).to.equal(202);
        expect((await ask(`${server.url}/wrong`)).body).to.deep.equal({ n: "1" });
      });

      it("DOC-3 serves a page whose links work below a mount path", async () => {
        await using server = await serve(express, (app) => {
          app.use("/sub", express.Router().use(openapi()));
        });
        const { body } = await ask(`${server.url}/sub/docs`);
        expect(body).to.contain("/sub/docs/docs.js").and.to.contain("/sub/openapi.json");
        expect((await ask(`${server.url}/sub/docs/docs.js`)).status).to.equal(200);
      });

      it("lists a route of one method with its description, even if middleware for all methods has the same path", () => {
        const app = express();
        app.all("/x", (_req, _res, next) => next());
        app.get("/x", describes({ summary: "Shows" }), (_req, res) => void res.json({}));
        const document = describeApp(app, { info });
        expect(operation(document, "/x", "get").summary).to.equal("Shows");
      });

      it("does not compare responses when checkResponses is false", async () => {
        const logger = collectingLogger();
        await using server = await serve(express, (app) => {
          app.use(openapi({ logger, checkResponses: false }));
          app.use(
            route({ method: "GET", path: "/", responses: { 204: "" } }, (_valid, _req, res) => res.json({})),
          );
        });
        await ask(server.url);
        expect(logger.lines).to.deep.equal([]);
      });
    });
  }

  it("describes parameters, bodies, responses and examples of a described route", () => {
    const app = majors[1]?.[1]();
    app?.use(
      route(
        {
          method: "PUT",
          path: "/items/:id",
          summary: "Replaces an item",
          tags: ["items"],
          request: {
            params: z.object({ id: z.string().regex(/^\w+$/).describe("The id.") }),
            query: z.object({ dry: z.boolean().optional() }),
            body: Item.omit({ id: true }),
          },
          responses: {
            200: { body: Item, headers: { "X-Rank": "The rank." }, example: { id: "a", price: 1 } },
            404: "no such item",
          },
          examples: { params: { id: "a1" }, body: { price: 1 } },
        },
        () => undefined,
      ),
    );
    const document = describeApp(app, { info });
    const put = operation(document, "/items/{id}", "put");
    expect(put.operationId).to.equal("putItemsById");
    expect(put.parameters).to.deep.equal([
      {
        name: "id",
        in: "path",
        required: true,
        description: "The id.",
        example: "a1",
        schema: { type: "string", pattern: "^\\w+$" },
      },
      { name: "dry", in: "query", schema: { type: "boolean" } },
      { $ref: "#/components/parameters/RequestId" },
    ]);
    expect(put.requestBody.content["application/json"]).to.deep.equal({
      schema: { type: "object", properties: { price: { type: "number" } }, required: ["price"] },
      example: { price: 1 },
    });
    expect(put.responses["200"].content["application/json"]).to.deep.equal({
      schema: { $ref: "#/components/schemas/Item" },
      example: { id: "a", price: 1 },
    });
    expect(Object.keys(put.responses["200"].headers)).to.deep.equal(["X-Request-ID", "X-Rank"]);
    expect(put.responses["200"].description).to.equal("OK");
    expect(put.responses["404"].description).to.equal("no such item");
    expect(Object.keys(put.responses)).to.deep.equal([
      "200",
      "400",
      "404",
      "413",
      "415",
      "422",
      "500",
      "504",
    ]);
    expect(put.responses["422"].content).to.deep.equal({
      "application/problem+json": { schema: { $ref: "#/components/schemas/ValidationProblem" } },
    });
  });

  it("describes bodies of other content types, error pages and tags", () => {
    const page = { schema: { type: "string" } } as const;
    const routes = [
      {
        method: "POST",
        template: "/files",
        description: {
          tags: ["files", "other"],
          request: { body: Item },
          requestBodies: { "text/csv": page, "application/json": page },
          responses: { 200: { body: page, bodies: { "text/html": page } }, 303: "", 404: "no such file" },
          errorBodies: { "text/html": page },
          examples: { body: { id: "a", price: 1 } },
        },
      },
      { method: "PUT", template: "/files", description: { requestBodies: { "text/csv": page } } },
    ];
    const tags = { files: "Files of items", unused: "Not in the document" };
    const document = documentOf(routes, { info, tags });
    expect(document["tags"]).to.deep.equal([
      { name: "files", description: "Files of items" },
      { name: "other" },
    ]);
    const post = operation(document, "/files", "post");
    const item = { $ref: "#/components/schemas/Item" };
    const problem = { schema: { $ref: "#/components/schemas/Problem" } };
    expect(post.requestBody).to.deep.equal({
      required: true,
      content: {
        "application/json": { schema: item, example: { id: "a", price: 1 } },
        "text/csv": page,
      },
    });
    expect(post.responses["200"].content).to.deep.equal({
      "application/json": page,
      "text/html": page,
    });
    expect(post.responses["303"]).to.not.have.property("content");
    for (const status of ["404", "500"])
      expect(post.responses[status].content, status).to.deep.equal({
        "application/problem+json": problem,
        "text/html": page,
      });
    const put = operation(document, "/files", "put");
    expect(put.requestBody.content).to.deep.equal({ "text/csv": page });
    expect(put.responses["500"].content).to.deep.equal({ "application/problem+json": problem });
  });

  it("describes the security and the problems that guards imply", () => {
    const app = majors[1]?.[1]();
    app?.get(
      "/both",
      requireScopes("a:read", "a:write"),
      requireRoles("admin"),
      (_req, res) => void res.json({}),
    );
    app?.get("/signed-in", requireAuth(), (_req, res) => void res.json({}));
    app?.get("/optional", optionalAuth(), (_req, res) => void res.json({}));
    app?.post("/typed", requireContentType("text/csv"), (_req, res) => void res.json({}));
    const document = describeApp(app, { info, tokenCookie: "session", problems: [429] });
    const both = operation(document, "/both", "get");
    expect(both.security).to.deep.equal([{ bearerAuth: [] }, { cookieAuth: [] }]);
    expect(both["x-required-scopes"]).to.deep.equal(["a:read", "a:write"]);
    expect(both["x-required-roles"]).to.deep.equal(["admin"]);
    expect(both.responses["403"].description).to.equal(
      "requires the scopes a:read, a:write; requires one of the roles admin",
    );
    expect(Object.keys(both.responses)).to.deep.equal(["200", "401", "403", "429", "500", "504"]);
    expect(operation(document, "/signed-in", "get").security).to.deep.equal([
      { bearerAuth: [] },
      { cookieAuth: [] },
    ]);
    expect(operation(document, "/optional", "get").security).to.deep.equal([
      {},
      { bearerAuth: [] },
      { cookieAuth: [] },
    ]);
    expect(operation(document, "/typed", "post").responses["415"].description).to.equal("accepts text/csv");
    expect(operation(document, "/typed", "post").security).to.deep.equal([]);
    expect(document.components["securitySchemes"]).to.have.keys("bearerAuth", "cookieAuth");
  });

  it("describes() documents a route without changing its handlers", async () => {
    for (const [major, express] of majors) {
      await using server = await serve(express, (app) => {
        app.use(openapi());
        const query = z.object({ name: z.string() });
        const described = describes({
          summary: "Greets",
          request: { query },
          responses: { 200: "the greeting" },
        });
        app.get("/old", described, (req, res) => void res.json({ name: req.query["name"] ?? null }));
      });
      expect((await ask(`${server.url}/old`)).body, major).to.deep.equal({ name: null });
      const { body } = await ask(`${server.url}/openapi.json`);
      expect(body.paths["/old"].get).to.deep.include({ operationId: "getOld", summary: "Greets" });
      expect(body.paths["/old"].get.parameters[0].name).to.equal("name");
    }
    expect(() => describes({ sumary: "" } as never)).to.throw(TypeError, "describes(): sumary is unknown");
  });

  it("names each component once, renames a different schema with the same name, and supports recursive schemas", () => {
    const Other = z.object({ id: z.number() }).meta({ id: "Item" });
    const Tree: z.ZodType = z.object({ children: z.array(z.lazy(() => Tree)) });
    const document = documentOf(
      [
        { method: "GET", template: "/a", description: { responses: { 200: { body: z.array(Item) } } } },
        { method: "GET", template: "/b", description: { responses: { 200: { body: Item } } } },
        { method: "GET", template: "/c", description: { responses: { 200: { body: Other } } } },
        { method: "POST", template: "/d", description: { request: { body: Tree } } },
      ],
      { info },
    );
    const schemas = document.components["schemas"] as Record<string, unknown>;
    expect(Object.keys(schemas)).to.deep.equal([
      "Item",
      "ItemOutput",
      "Problem",
      "ValidationProblem",
      "postDBody",
    ]);
    expect(JSON.stringify(document)).to.not.contain("#/$defs");
    expect(JSON.stringify(schemas["postDBody"])).to.contain('"$ref":"#/components/schemas/postDBody"');
  });

  it("uses the JSON Schema of the library or a given one, and {} for a schema or a member without one", () => {
    const body = { type: "object", properties: { n: { type: "number" } } } as const;
    const schemas: readonly [Schema, object][] = [
      [type({ n: "number" }), { ...body, required: ["n"] }],
      [{ schema: body, validator: v.object({ n: v.number() }) }, body],
      [v.object({ n: v.number() }), {}],
      [
        z.object({ n: z.number(), at: z.date() }),
        { ...body, properties: { ...body.properties, at: {} }, required: ["n", "at"] },
      ],
    ];
    for (const [schema, expected] of schemas) {
      const request = { body: schema };
      const document = documentOf([{ method: "POST", template: "/a", description: { request } }], { info });
      const { requestBody } = operation(document, "/a", "post");
      expect(requestBody.content["application/json"].schema).to.deep.equal(expected);
    }
  });

  it("returns 500 instead of a document larger than 5 MiB", async () => {
    for (const [major, express] of majors) {
      await using server = await serve(express, (app) => {
        app.use(openapi());
        app.get(
          "/a",
          describes({ description: "x".repeat(5 * 1024 * 1024) }),
          (_req, res) => void res.json({}),
        );
      });
      expect((await ask(`${server.url}/openapi.json`)).status, major).to.equal(500);
      expect((await ask(`${server.url}/a`)).status, major).to.equal(200);
    }
  });

  it("rejects invalid options", () => {
    expect(() => openapi({ docsPath: "/openapi.json" })).to.throw(ConfigurationError, "docsPath");
    expect(() => openapi({ docsPath: "docs/" })).to.throw(ConfigurationError, "docsPath");
    expect(() => openapi({ problems: [200] })).to.throw(ConfigurationError, "problems");
    expect(() => openapi({ tags: { items: 1 } as never })).to.throw(ConfigurationError, "tags");
    expect(() => describeApp({}, { info })).to.throw(TypeError, "must be an Express application or router");
  });

  it("calls next() with a TypeError on a server without Express", (done) => {
    const served = openapi();
    const [document] = served.handlers;
    document?.handler({ url: "/openapi.json", headers: {} } as never, {} as never, (error) => {
      expect(error).to.be.instanceOf(TypeError);
      done();
    });
  });
});
