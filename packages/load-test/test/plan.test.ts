import { LoadTestError } from "@svc/load-test";
import { expect } from "chai";
import { type LoadTestOptions, resolveOptions } from "../src/options.ts";
import { type Plan, planRun } from "../src/plan.ts";

type Json = Readonly<Record<string, unknown>>;

function plan(paths: Json, options: Partial<LoadTestOptions> = {}, components: Json = {}): Plan {
  const description = { openapi: "3.1.0", paths, components };
  return planRun(description, resolveOptions({ url: "http://host", ...options }));
}

/** The plan of `GET /x/{id}` with one path parameter, next to a route that can always be loaded. */
function withParameter(parameter: Json, components: Json = {}): Plan {
  const parameters = [{ in: "path", name: "id", required: true, ...parameter }];
  return plan({ "/x/{id}": { get: { parameters } }, "/y": { get: {} } }, {}, components);
}

function pathsOf({ requests }: Plan): readonly string[] {
  return requests.map(({ path }) => path);
}

function noRouteOf(make: () => Plan): string {
  try {
    make();
  } catch (error) {
    expect((error as LoadTestError).code).to.equal("ERR_SVC_LOAD_TEST_ROUTES");
    return (error as LoadTestError).message;
  }
  throw new Error("there is a route");
}

describe("the parameters of a route", () => {
  const filled: readonly (readonly [string, Json, string])[] = [
    ["example", { example: "a", schema: { default: "b", enum: ["c"] } }, "a"],
    ["the first of examples", { examples: { one: { value: "a" }, two: { value: "b" } } }, "a"],
    ["the schema's example", { schema: { example: "a", default: "b" } }, "a"],
    ["the first of the schema's examples", { schema: { examples: ["a", "b"], default: "c" } }, "a"],
    ["default before enum", { schema: { enum: ["a"], default: "b" } }, "b"],
    ["the first member of enum", { schema: { enum: ["a", "b"] } }, "a"],
    ["const", { schema: { const: "a" } }, "a"],
    ["a number", { schema: { default: 0 } }, "0"],
    ["false", { schema: { default: false } }, "false"],
    ["a list", { schema: { example: ["a", "b"] } }, "a,b"],
    ["encoded characters", { example: "a/b c?é" }, "a%2Fb%20c%3F%C3%A9"],
    ["a branch of anyOf", { schema: { anyOf: [{ type: "null" }, { type: "string", example: "a" }] } }, "a"],
    ["the schema of content", { content: { "text/plain": { schema: { example: "a" } } } }, "a"],
  ];
  for (const [what, parameter, expected] of filled) {
    it(`LOAD-1 are filled from ${what}`, () => {
      expect(pathsOf(withParameter(parameter))).to.deep.equal([`/x/${expected}`, "/y"]);
    });
  }

  const unfilled: readonly (readonly [string, Json])[] = [
    ["no value", { schema: { type: "string" } }],
    ["an empty value", { example: "" }],
    ["an object", { example: { a: 1 } }],
    ["null", { schema: { default: null } }],
    ["an empty list", { schema: { enum: [] } }],
    ["a cyclic reference", { schema: { $ref: "#/components/schemas/Loop" } }],
    ["a cyclic composition", { schema: { $ref: "#/components/schemas/Tree" } }],
    ["a broken reference", { schema: { $ref: "#/components/schemas/Missing" } }],
    ["a reference to a member of every object", { schema: { $ref: "#/constructor" } }],
    ["a reference to another document", { schema: { $ref: "https://other.example/x.json" } }],
    ["a reference that cannot be decoded", { schema: { $ref: "#/%zz" } }],
  ];
  for (const [what, parameter] of unfilled) {
    it(`LOAD-1 cause the route to be skipped, with the reason, for ${what}`, () => {
      const schemas = {
        Loop: { $ref: "#/components/schemas/Loop" },
        Tree: { allOf: Array.from({ length: 20 }, () => ({ $ref: "#/components/schemas/Tree" })) },
      };
      const { requests, skipped } = withParameter(parameter, { schemas });
      expect(requests.map(({ path }) => path)).to.deep.equal(["/y"]);
      expect(skipped).to.deep.equal([
        { route: "GET /x/{id}", reason: "path parameter id has no example, default or enum" },
      ]);
    });
  }

  it("LOAD-1 are read through local references, even if names are escaped", () => {
    const components = {
      parameters: { Id: { in: "path", name: "id", schema: { $ref: "#/components/schemas/a~1b%20c" } } },
      schemas: { "a/b c": { example: "a" } },
    };
    const paths = { "/x/{id}": { parameters: [{ $ref: "#/components/parameters/Id" }], get: {} } };
    expect(pathsOf(plan(paths, {}, components))).to.deep.equal(["/x/a"]);
  });

  it("are those of the operation if its path has parameters of the same name", () => {
    const parameter = (example: string) => ({ in: "path", name: "id", example });
    const paths = { "/x/{id}": { parameters: [parameter("a")], get: { parameters: [parameter("b")] } } };
    expect(pathsOf(plan(paths))).to.deep.equal(["/x/b"]);
  });

  it("LOAD-1 are filled if they are required in the query or the headers, and omitted if they are optional", () => {
    const parameters = [
      { in: "query", name: "year", required: true, schema: { default: 2026 } },
      { in: "query", name: "tag", required: true, example: ["a", "b&c"] },
      { in: "query", name: "ids", required: true, explode: false, example: [1, 2] },
      { in: "query", name: "page", example: 3 },
      { in: "header", name: "X-Kind", required: true, schema: { enum: ["full"] } },
      { in: "header", name: "X-Other", example: "no" },
      { in: "header", name: "Authorization", required: true },
    ];
    const [request] = plan({ "/x": { get: { parameters } } }).requests;
    expect(request?.path).to.equal("/x?year=2026&tag=a&tag=b%26c&ids=1,2");
    expect(request?.headers).to.deep.equal({ "x-kind": "full" });
  });

  it("LOAD-1 are named in the reason for a skipped route, with their place or as not described", () => {
    const needs = (place: string) => ({ get: { parameters: [{ in: place, name: "n", required: true }] } });
    const paths = {
      "/q": needs("query"),
      "/h": needs("header"),
      "/c": needs("cookie"),
      "/{p}": { get: {} },
      "/y": { get: {} },
    };
    expect(plan(paths).skipped).to.deep.equal([
      { route: "GET /q", reason: "query parameter n has no example, default or enum" },
      { route: "GET /h", reason: "header parameter n has no example, default or enum" },
      { route: "GET /c", reason: "cookie n is required; give it with -H" },
      { route: "GET /{p}", reason: "path parameter p is not described" },
    ]);
  });

  it("LOAD-1 cause the route to be skipped if a request cannot have the required header", () => {
    const connection = [
      "Content-Length",
      "Transfer-Encoding",
      "Connection",
      "Upgrade",
      "Expect",
      "Keep-Alive",
    ];
    for (const name of connection) {
      const parameters = [{ in: "header", name, required: true, example: "5" }];
      expect(plan({ "/x": { get: { parameters } }, "/y": { get: {} } }).skipped).to.deep.equal([
        { route: "GET /x", reason: `header ${name} is required, but only the connection can set it` },
      ]);
    }
    for (const name of ["X Bad", "X-B\u00e4d", "", "a:b"]) {
      const parameters = [{ in: "header", name, required: true, example: "5" }];
      expect(plan({ "/x": { get: { parameters } }, "/y": { get: {} } }).skipped).to.deep.equal([
        { route: "GET /x", reason: `header ${name} is required, but its name is invalid` },
      ]);
    }
  });

  it("are ignored if their place is not a string", () => {
    const place: unknown = JSON.parse(`${"[".repeat(20_000)}${"]".repeat(20_000)}`);
    const parameters = [{ in: place, name: "n", required: true, example: "5" }];
    expect(plan({ "/x": { get: { parameters } } }).requests[0]).to.deep.include({ path: "/x", headers: {} });
  });

  it("are not needed for a header or a cookie that -H gives", () => {
    const needs = (place: string, name: string) => ({
      get: { parameters: [{ in: place, name, required: true }] },
    });
    const paths = { "/h": needs("header", "X-Tenant"), "/c": needs("cookie", "session") };
    const given = plan(paths, { headers: ["X-Tenant: acme", "Cookie: session=1"] });
    expect(given.skipped).to.deep.equal([]);
    expect(pathsOf(given)).to.deep.equal(["/h", "/c"]);
  });
});

describe("the routes of a run", () => {
  const body = (media: Json) => ({ requestBody: { content: { "application/json": media } } });
  const paths = {
    "/items": { get: {}, post: body({ example: { name: "cup" } }) },
    "/items/{id}": {
      get: { parameters: [{ in: "path", name: "id", example: 7 }] },
      put: {
        ...body({ schema: { examples: [{ name: "mug" }] } }),
        parameters: [{ in: "path", name: "id", example: 8 }],
      },
    },
    "/notes": { post: body({ schema: { type: "object" } }), delete: {} },
    "/health": { get: {} },
    "/docs/page": { get: {} },
    "/auth/demo/start": { get: {} },
    "/healthy": { get: {} },
  };

  it("LOAD-1 are all GET routes except those of the framework", () => {
    expect(pathsOf(plan(paths))).to.deep.equal(["/items", "/items/7", "/healthy"]);
  });

  it("LOAD-2 include those of the framework with --include-framework", () => {
    expect(pathsOf(plan(paths, { includeFramework: true }))).to.include.members(["/health", "/docs/page"]);
  });

  it("LOAD-2 are selected by --route as a template or a literal path", () => {
    const routes = ["/items/{id}", "/items/9?full=1", "/health"];
    expect(pathsOf(plan(paths, { routes }))).to.deep.equal(["/items/7", "/items/9?full=1", "/health"]);
  });

  it("LOAD-2 include writes with --method, only with an example body", () => {
    const { requests, skipped } = plan(paths, { methods: ["POST", "PUT"] });
    expect(requests).to.deep.equal([
      {
        route: "POST /items",
        method: "POST",
        path: "/items",
        headers: { "content-type": "application/json" },
        body: '{"name":"cup"}',
      },
      {
        route: "PUT /items/{id}",
        method: "PUT",
        path: "/items/8",
        headers: { "content-type": "application/json" },
        body: '{"name":"mug"}',
      },
    ]);
    expect(skipped).to.deep.equal([{ route: "POST /notes", reason: "the request body has no example" }]);
  });

  it("LOAD-2 take the body of a literal path from the template that it matches", () => {
    const [request] = plan(paths, { methods: ["PUT"], routes: ["/items/9"] }).requests;
    expect([request?.route, request?.path, request?.body]).to.deep.equal([
      "PUT /items/9",
      "/items/9",
      '{"name":"mug"}',
    ]);
  });

  it("send forms and plain text with the encoding of their media type", () => {
    const content = (type: string, example: unknown) => ({
      post: { requestBody: { content: { [type]: { example } } } },
    });
    const { requests, skipped } = plan(
      {
        "/form": content("application/x-www-form-urlencoded", { a: 1, b: "x y" }),
        "/text": content("text/plain", "hello"),
        "/merge": content("application/merge-patch+json", { a: null }),
        "/image": content("image/png", "..."),
      },
      { methods: ["POST"] },
    );
    expect(requests.map(({ body: sent }) => sent)).to.deep.equal(["a=1&b=x+y", "hello", '{"a":null}']);
    expect(skipped).to.deep.equal([{ route: "POST /image", reason: "the request body has no example" }]);
  });

  it("are skipped if the example of their body is nested so deeply that it cannot be written", () => {
    const example: unknown = JSON.parse(`${"[".repeat(20_000)}${"]".repeat(20_000)}`);
    const content = { "application/json": { example } };
    const form = { "application/x-www-form-urlencoded": { example: { a: example } } };
    const { skipped } = plan(
      {
        "/deep": { post: { requestBody: { content } } },
        "/form": { post: { requestBody: { content: form } } },
        "/items": paths["/items"],
      },
      { methods: ["POST"] },
    );
    expect(skipped).to.deep.equal([
      { route: "POST /deep", reason: "the example of the request body cannot be written" },
      { route: "POST /form", reason: "the example of the request body cannot be written" },
    ]);
  });

  it("are rejected with all reasons if no route can be loaded", () => {
    expect(noRouteOf(() => plan({ "/{p}": { get: {} } }))).to.equal(
      "no route can be loaded: GET /{p}: path parameter p is not described",
    );
    expect(noRouteOf(() => plan({}))).to.equal(
      "no route can be loaded: the description has no route with GET; give --route",
    );
    expect(noRouteOf(() => plan(paths, { routes: ["/{other}"] }))).to.equal(
      "no route can be loaded: GET /{other}: the description has no such route",
    );
    expect(noRouteOf(() => plan(paths, { routes: ["/notes"] }))).to.equal(
      "no route can be loaded: /notes: the description has no GET for it",
    );
    expect(noRouteOf(() => plan(paths, { routes: ["/other"], methods: ["POST"] }))).to.equal(
      "no route can be loaded: POST /other: the description has no body for it",
    );
  });

  it("are rejected with `no route` if the paths have the wrong type, but parameters of the wrong type are ignored", () => {
    for (const wrong of [
      [],
      "x",
      1,
      null,
      { "/x": [] },
      { "/x": "y" },
      { x: { get: {} } },
      { "/x": { get: 1 } },
    ])
      expect(noRouteOf(() => plan(wrong as unknown as Json))).to.include(
        "the description has no route with GET",
      );
    for (const parameters of [{}, "x", [1, null, "y"], [{ in: 1, name: 2 }], [{}]])
      expect(pathsOf(plan({ "/x": { get: { parameters } } }))).to.deep.equal(["/x"]);
  });

  it("are skipped if their path has characters that a URL does not allow", () => {
    const { skipped } = plan({ "/a b": { get: {} }, "/é": { get: {} }, "/y": { get: {} } });
    expect(skipped.map(({ reason }) => reason)).to.deep.equal([
      "the path has characters that a URL does not allow",
      "the path has characters that a URL does not allow",
    ]);
  });

  it("are read from a description of 20,000 routes with cyclic schemas", () => {
    const many = Object.fromEntries(
      Array.from({ length: 20_000 }, (_, at) => [
        `/r${at}/{id}`,
        { get: { parameters: [{ in: "path", name: "id", schema: { $ref: "#/components/schemas/Tree" } }] } },
      ]),
    );
    const Tree = { anyOf: [{ $ref: "#/components/schemas/Tree" }, { example: "a" }] };
    expect(plan(many, {}, { schemas: { Tree } }).requests).to.have.length(20_000);
  });
});
