import { checkConformance, type ConformanceReport } from "@svc/conformance";
import { expect } from "chai";
import { serveDocument } from "./mutations/named-routes.ts";
import { startHollow, systemRoutes } from "./support/hollow-service.ts";
import { failures, judge, messagesOf } from "./support/judge.ts";

describe("routes in /openapi.json", function () {
  this.timeout(60_000);
  const reaches = ["ERR", "AUTH-13", "SYS-1"];

  it("cause no failure on a sound service", async () => {
    const report = await judge("swift", { request: serveDocument() }, { reaches });
    expect(messagesOf(failures(report))).to.deep.equal([]);
    expect(report.routes).to.equal(6);
  });

  /** Checks some rules of a service that serves this document and no routes. */
  async function checked(document: unknown, ...only: readonly string[]): Promise<ConformanceReport> {
    await using hollow = await startHollow({ routes: { ...systemRoutes, "/openapi.json": document } });
    return await checkConformance({ url: hollow.url, only, require: ["openapi"] });
  }

  it("are requested with a method that the document does not list", async () => {
    const document = { paths: { "/orders/{id}": { get: {} }, "/health": { get: {} } } };
    const report = await checked(document, "ERR-9", "ERR-10");
    expect(messagesOf(failures(report))[0]).to.match(
      /^ERR-9: 404 for PUT \/orders\/svc\w+, which \/openapi\.json does not list$/,
    );
  });

  it("are expected to allow the methods of all matching templates", async () => {
    const document = { paths: { "/{name}": { put: {} }, "/health": { get: {} } } };
    const report = await checked(document, "ERR-9", "ERR-10");
    // The template /{name} also matches /health, where the service supports only GET.
    expect(messagesOf(failures(report))).to.include(
      'ERR-10: Allow "GET" for PATCH /health, which /openapi.json does not list',
    );
  });

  it("are requested below the path of the document's first server", async () => {
    const document = { servers: [{ url: "/v1" }], paths: { "/orders": { get: {} } } };
    expect(messagesOf(failures(await checked(document, "ERR-9")))[0]).to.contain("404 for PUT /v1/orders,");
  });

  it("are requested below the path of a server with another origin only if the service serves them there", async () => {
    const servers = [{ url: "https://api.example/v1" }];
    const gateway = { servers, paths: { "/health": { get: {} } } };
    expect(messagesOf(failures(await checked(gateway, "ERR-9", "ERR-11")))).to.deep.equal([]);
    await using below = await startHollow({
      routes: {
        ...systemRoutes,
        "/v1/orders": {},
        "/openapi.json": { servers, paths: { "/orders": { get: {} } } },
      },
    });
    const own = await checkConformance({ url: below.url, only: ["ERR-9"], require: ["openapi"] });
    expect([messagesOf(failures(own)), own.conforms]).to.deep.equal([[], true]);
    const unknown = { servers, paths: { "/orders/{id}": { get: {} } } };
    expect((await checked(unknown, "SYS-1")).routes).to.equal(0);
  });

  it("cause no failure when the service has undocumented methods, or undocumented paths below a documented one", async () => {
    const document = { paths: { "/login": { post: {} }, "/files/{path}": { put: {} } } };
    const differences = serveDocument(document);
    const report = await judge(
      "swift",
      {
        request: (req, res) => {
          if (differences(req, res)) return true;
          const isPage = req.method === "GET" && req.url?.startsWith("/login?") === true;
          const isFile = req.url?.startsWith("/files/") === true;
          if (isPage || isFile) res.writeHead(200).end("found");
          return isPage || isFile;
        },
      },
      { reaches: ["ERR-9", "ERR-11"] },
    );
    expect(messagesOf(failures(report))).to.deep.equal([]);
    expect(report.routes).to.equal(2);
  });

  it("are tested for a 401 unless the document accepts an API key, Basic authentication or only a cookie", async () => {
    const document = {
      components: {
        securitySchemes: {
          basic: { type: "http", scheme: "basic" },
          key: { type: "apiKey", in: "header", name: "X-Key" },
          cookie: { type: "apiKey", in: "cookie", name: "session" },
          token: { type: "http", scheme: "Bearer" },
        },
      },
      paths: {
        "/basic": { get: { security: [{ basic: [] }] } },
        "/either": { get: { security: [{ token: [] }, { key: [] }] } },
        "/both": { get: { security: [{ token: [], key: [] }] } },
        "/session": { get: { security: [{ cookie: [] }] } },
        "/token-or-session": { get: { security: [{ token: [] }, { cookie: [] }] } },
      },
    };
    const asked = new Set<string>();
    const serve = serveDocument(document);
    const report = await judge(
      "swift",
      {
        request: (req, res) => {
          if (serve(req, res)) return true;
          const { pathname } = new URL(req.url ?? "", "http://x");
          const isOurs = req.method === "GET" && Object.hasOwn(document.paths, pathname);
          if (!isOurs) return false;
          asked.add(pathname);
          res.writeHead(401, { "WWW-Authenticate": "Basic" }).end();
          return true;
        },
      },
      { reaches: ["AUTH-13", "ERR-12"] },
    );
    expect(messagesOf(failures(report))).to.deep.equal(['ERR-12: WWW-Authenticate "Basic"']);
    expect([...asked]).to.deep.equal(["/both", "/token-or-session"]);
  });

  it("are limited to the first 50", async () => {
    const paths = Object.fromEntries(Array.from({ length: 80 }, (_, at) => [`/a${at}`, { get: {} }]));
    expect((await checked({ paths }, "SYS-1")).routes).to.equal(50);
  });

  for (const [what, document] of [
    ["a document that is a list", []],
    ["a document whose paths have the wrong type", { paths: "none" }],
    [
      "a document whose path items and operations have wrong types",
      { paths: { "/a": null, "/b": { get: 7, parameters: 7 }, c: {} } },
    ],
    ["a document with a line break in a path", { paths: { "/a\r\nX: y": { get: {} } } }],
  ] as const) {
    it(`are reported as not covered for ${what}`, async () => {
      const report = await checked(document, "SYS-1", "ERR-9");
      expect([report.routes, report.failed]).to.deep.equal([0, 0]);
      expect(report.shortfalls).to.deep.equal(["no rule was checked for these names in --require: openapi"]);
    });
  }

  it("are requested with values of the documented format for path parameters", async () => {
    const parameter = (name: string, schema: object): object => ({ name, in: "path", schema });
    const parameters = [
      parameter("number", { type: "integer" }),
      parameter("id", { type: "string", format: "uuid" }),
      parameter("colour", { enum: ["red green", "blue"] }),
    ];
    const document = { paths: { "/x/{number}/{id}/{colour}/{other}": { get: { parameters } } } };
    expect(messagesOf(failures(await checked(document, "ERR-9")))[0]).to.match(
      /PUT \/x\/987654321\/[\da-f-]{36}\/red%20green\/svc\w+,/,
    );
  });

  it("must include the routes of probes, except those that the contract itself defines", async () => {
    const document = { openapi: "3.1.0", servers: [{ url: "/v1" }], paths: { "/orders": { get: {} } } };
    const routes = {
      ...systemRoutes,
      "/v1/orders": {},
      "/v1/users": {},
      "/auth/me": {},
      "/openapi.json": document,
    };
    await using hollow = await startHollow({ routes });
    const of = async (open: string): Promise<readonly string[]> => {
      const probes = { docs: "/docs", open, mixed: "/auth/me" };
      return messagesOf(failures(await checkConformance({ url: hollow.url, probes, only: ["DOC-1"] })));
    };
    expect(await of("/v1/orders?page=1")).to.deep.equal([]);
    expect(await of("/v1/users")).to.deep.equal(["DOC-1: no GET /v1/users in /openapi.json"]);
  });
});
