import { expect } from "chai";
import { docsAssets } from "../src/page/assets.ts";
import { docsPage } from "../src/page/docs-page.ts";
import type { OpenApiDocument } from "../src/page/document-shape.ts";
import { documentOf, expenses } from "./support/page-document.ts";
import { gzipSync } from "node:zlib";

const paths = { documentPath: "/openapi.json", assetPath: "/docs" };

function pageOf(document: OpenApiDocument): string {
  return docsPage({ document, ...paths });
}

/** Returns the page of a document with one operation, `POST /x` unless `path` is given. */
function pageOfOperation(operation: unknown, path = "/x", components: unknown = {}): string {
  return pageOf({ info: { title: "T" }, paths: { [path]: { post: operation } }, components });
}

/** Returns the visible text, one line for each line of HTML. */
function textOf(html: string): string {
  const texts = html
    .replace(/<[^>]*>/g, " ")
    .replaceAll(/ +/g, " ")
    .replaceAll(/ (?=[,|])/g, "");
  const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', "#39": "'", amp: "&" };
  return texts.replace(/&(lt|gt|quot|#39|amp);/g, (_, name: string) => entities[name] ?? "");
}

/** Returns the HTML of one operation. */
function operationOf(html: string, method: string, path: string): string {
  const start = html.indexOf(`<details id="${method}${path}"`);
  expect(start, `${method} ${path}`).to.be.above(0);
  return html.slice(start, html.indexOf("Link to this operation", start));
}

describe("the page of the document", () => {
  it("DOC-3 shows title, version, description and the path of the document", () => {
    const html = pageOf(expenses);
    expect(html).to.contain("<title>Expenses</title>").and.contain("<h1>Expenses</h1>");
    expect(html).to.contain('Version 1.2.3. <a href="/openapi.json">OpenAPI document</a>');
    expect(html).to.contain('<p class="text">Records expenses.\n\nAmounts are in euros.</p>');
  });

  it("DOC-3 groups operations by tag in the document's order, then sorts by path and method", () => {
    const headings = [...pageOf(expenses).matchAll(/<h[23]>.*?<\/h[23]>/g)].map(([each]) =>
      textOf(each).trim(),
    );
    expect(headings).to.eql([
      "Reports",
      "GET /reports/{month} Sums of a month deprecated",
      "Expenses",
      "GET /expenses List expenses",
      "POST /expenses Record an expense",
      "Other operations",
      "GET /health",
      "Routes without a path",
    ]);
  });

  it("DOC-3 shows the access that an operation requires, with its scopes, roles and tenant", () => {
    const html = pageOf(expenses);
    const post = textOf(operationOf(html, "post", "/expenses"));
    expect(post).to.match(/bearerAuth, scopes expenses:write\s+roles: clerk admin\s+requires tenant/);
    expect(post).not.to.contain("never shown");
    expect(textOf(operationOf(html, "get", "/expenses"))).to.match(/bearerAuth\s+or without signing in/);
    expect(operationOf(html, "get", "/health")).not.to.contain("Access");
  });

  it("DOC-3 shows parameters, including those of the path and of components", () => {
    const html = pageOf(expenses);
    const rows = textOf(operationOf(html, "get", "/expenses").replaceAll(/<t[hd][ >]/g, "|$&"));
    expect(rows).to.contain("| limit| query| yes| integer, 1 to 100, default 20|| 50");
    expect(rows).to.contain('| category| query| no| list of "meals" or "travel"| Only these|');
    expect(rows).to.contain("| X-Trace| header| yes| string, uuid||");
    expect(textOf(operationOf(html, "get", "/reports/{month}"))).to.contain("month path yes string 2026-03");
  });

  it("DOC-3 shows an example of a request body, and lists the members of a recursive schema once", () => {
    const html = operationOf(pageOf(expenses), "post", "/expenses");
    const [list = ""] = /<h4>Request body<\/h4>[^]*?(?=<pre)/.exec(html) ?? [];
    expect(textOf(list).trim().split(/\s+/).join(" ")).to.equal(
      "Request body Required, application/json: Expense " +
        "amount number, above 0, required: In euros " +
        'category "meals" or "travel", required ' +
        "note string or null, at most 200 characters split list of Expense id string, uuid",
    );
    const [, example = ""] = /<pre class="body" data-type="application\/json">\n([^<]*)</.exec(html) ?? [];
    expect(JSON.parse(textOf(example))).to.eql({
      amount: 12.5,
      category: "meals",
      note: "text",
      split: [{ amount: 12.5, category: "meals" }],
    });
  });

  it("DOC-3 shows responses with status, description and the members of a successful response", () => {
    const html = operationOf(pageOf(expenses), "post", "/expenses");
    const responses = textOf(html.slice(html.indexOf("<h4>Responses")).replaceAll("<dt>", "|"));
    expect(responses).to.match(/\|201 The expense was recorded\. application\/json: Expense amount number/);
    expect(responses).to.match(/\|422 The request is not valid\. application\/problem\+json: Problem\s/);
  });

  it("DOC-3 lists the routes that OpenAPI cannot express", () => {
    expect(textOf(pageOf(expenses))).to.contain(String.raw`{"method":"GET","pattern":"/^\\/old-.*/"}`);
  });

  it("puts the URL of the document's server in front of every path if it is a path", () => {
    const targets = {
      "/api/": "/api/x",
      "/": "/x",
      "https://api.example/v1": "/x",
      "//api.example/v1": "/x",
    };
    for (const [url, target] of Object.entries(targets)) {
      const html = pageOf({ servers: [{ url }, { url: "/other" }], paths: { "/x": { get: {} } } });
      expect(html).to.contain(`data-path="${target}"`).and.contain("<code>/x</code>");
      expect(textOf(html)).to.contain(`curl "$ORIGIN"'${target}'`);
      const example = url.startsWith("https:") ? url : "http://localhost:8000";
      expect(textOf(html)).to.contain(`is the address of this service, for example ${example}`);
      expect(html.includes("Every path starts with <code>/api</code>")).to.equal(target === "/api/x");
    }
  });

  it("shows the cookie of a session in the curl line if there is no bearer token", () => {
    const securitySchemes = {
      session: { type: "apiKey", in: "cookie", name: "__Host-session" },
      bearer: { type: "http", scheme: "Bearer" },
    };
    const security = [{ session: [] }];
    const cookie = `-b '__Host-session='"$TOKEN"`;
    expect(textOf(pageOfOperation({ security }, "/x", { securitySchemes }))).to.contain(cookie);
    const both = textOf(
      pageOfOperation({ security: [...security, { bearer: [] }] }, "/x", { securitySchemes }),
    );
    expect(both).to.contain('-H "Authorization: Bearer $TOKEN"').and.not.contain(cookie);
  });

  it("shows the encoded fields of a form, and omits an example that is too long to show in full", () => {
    const content = (type: string, example: unknown): unknown => ({
      requestBody: { content: { [type]: { example } } },
    });
    const form = pageOfOperation(
      content("application/x-www-form-urlencoded", { a: "x y", b: ["1", 2], c: { d: 3 } }),
    );
    expect(textOf(form)).to.contain("a=x+y&b=1&b=2&c=%7B%22d%22%3A3%7D");
    const long = pageOfOperation(content("application/json", ["long".repeat(3000)]));
    expect(long)
      .to.contain('<pre class="body" data-type="application/json">\n</pre>')
      .and.not.contain("longlong");
  });

  it("replaces a parameter of the path with that of the operation", () => {
    const html = pageOf({
      paths: {
        "/a/{id}": {
          parameters: [{ name: "id", in: "path", description: "of the path" }],
          get: { parameters: [{ name: "id", in: "path", description: "of the operation" }] },
        },
      },
    });
    expect(html).to.contain("of the operation").and.not.contain("of the path");
  });

  it("shows the first JSON media type of a body, and the variants of its schema", () => {
    const html = pageOfOperation({
      requestBody: {
        content: {
          "text/csv": { schema: { type: "string" } },
          "application/merge-patch+json": {
            schema: {
              oneOf: [
                { type: "object", properties: { first: { const: 1 } } },
                {
                  type: "object",
                  properties: { second: { type: "boolean" } },
                  additionalProperties: { type: "integer" },
                },
              ],
            },
          },
        },
      },
    });
    const text = textOf(html);
    expect(text).to.contain("Optional, text/csv or application/merge-patch+json");
    const list = "either object first 1 either object second boolean any other integer";
    expect(text.replaceAll(/\s+/g, " ")).to.contain(list);
    expect(html).to.contain('data-type="application/merge-patch+json"');
  });

  it("merges the members of allOf and shows constraints in words", () => {
    const html = pageOfOperation(
      {
        requestBody: {
          content: {
            "application/json": {
              schema: {
                allOf: [{ $ref: "#/components/schemas/Base" }],
                required: ["name"],
                properties: {
                  code: { type: "string", minLength: 3, maxLength: 3, pattern: "^[A-Z]+$" },
                  steps: {
                    type: "array",
                    minItems: 1,
                    items: { type: "integer", multipleOf: 5, exclusiveMaximum: 60 },
                  },
                  never: false,
                  free: {},
                },
              },
            },
          },
        },
      },
      "/x",
      { schemas: { Base: { type: "object", properties: { name: { type: "string" } } } } },
    );
    const text = textOf(html);
    expect(text).to.contain("name string, required");
    expect(text).to.contain("code string, 3 characters, pattern ^[A-Z]+$");
    expect(text).to.contain("steps list of integer, below 60, multiple of 5, at least 1 items");
    expect(text).to.contain("never nothing").and.contain("free any value");
  });

  it("uses the example of a media type before examples, schema examples and generated values", () => {
    const bodies = [
      [{ example: 1, examples: { a: { value: 2 } }, schema: { example: 3 } }, "1"],
      [{ examples: { a: { $ref: "#/components/examples/A" } }, schema: { example: 3 } }, "2"],
      [{ schema: { examples: [4], default: 5 } }, "4"],
      [{ schema: { default: 5, type: "integer" } }, "5"],
      [{ schema: { type: "string", format: "date" } }, "&quot;2026-01-31&quot;"],
      [{ schema: { type: "integer", minimum: 3, multipleOf: 5 } }, "5"],
      [{ schema: { type: "number", maximum: -2 } }, "-2"],
      [{ schema: { type: "string", minLength: 6 } }, "&quot;textxx&quot;"],
      [{ schema: { type: ["null", "boolean"] } }, "true"],
      [{ schema: { type: "integer", minimum: -9007199254740991, maximum: 9007199254740991 } }, "1"],
      [{ schema: {} }, "{}"],
    ] as const;
    for (const [content, expected] of bodies) {
      const html = pageOfOperation({ requestBody: { content: { "application/json": content } } }, "/x", {
        examples: { A: { value: 2 } },
      });
      expect(html).to.contain(`data-type="application/json">\n${expected}</pre>`);
    }
  });

  describe("with hostile strings", () => {
    const hostile = `</pre></script><script>alert(1)</script>"'<img src=x onerror=alert(1)>&lt;\u2028\u2029\0\u001b\ud800`;

    it("DOC-3 escapes every text of the document", () => {
      const schema = {
        type: "object",
        title: hostile,
        description: hostile,
        properties: { [hostile]: { const: hostile } },
      };
      const html = pageOf({
        info: { title: hostile, version: hostile, description: hostile },
        externalDocs: { url: hostile, description: hostile },
        tags: [{ name: hostile, description: hostile }],
        "x-unlisted": [hostile, { [hostile]: hostile }],
        components: { securitySchemes: { [hostile]: { type: "apiKey", in: "cookie", name: hostile } } },
        paths: {
          [`/${hostile}/{a}`]: {
            put: {
              tags: [hostile],
              summary: hostile,
              description: hostile,
              operationId: hostile,
              security: [{ [hostile]: [hostile] }],
              "x-roles": hostile,
              [`x-scopes-${hostile}`]: [hostile],
              externalDocs: { url: hostile },
              parameters: [
                {
                  name: hostile,
                  in: hostile,
                  required: true,
                  description: hostile,
                  example: hostile,
                  schema,
                },
                { name: "a", in: "path", example: [hostile], schema: { type: "array", pattern: hostile } },
                { name: hostile, in: "header", required: true, example: hostile },
                { name: hostile, in: "query", required: true, example: hostile },
              ],
              requestBody: { description: hostile, content: { [hostile]: { schema, example: hostile } } },
              responses: { [hostile]: { description: hostile, content: { [hostile]: { schema } } } },
            },
          },
        },
      });
      expect(html.match(/<script/g)).to.have.length(1);
      expect(html).not.to.match(/<img|&amp;amp;/);
      expect(html).not.to.match(/(?!\n)\p{Cc}/u);
      // Every tag consists of known names and of attributes in double quotes that contain no other double
      // quote.
      const rest = html.replaceAll(/<(?:!doctype html|\/?[a-z][a-z0-9]*(?: [a-z-]+(?:="[^"<>]*")?)*)>/g, "");
      expect(rest).not.to.match(/[<>]/);
      expect(html).not.to.match(/ on[a-z]+="/);
    });

    it("DOC-3 shows a link as text if it is not an http or https URL", () => {
      for (const url of [
        "javascript:alert(1)",
        " JAVASCRIPT:alert(1)",
        "data:text/html,x",
        "//evil.example",
        7,
        {},
      ]) {
        const html = pageOf({ externalDocs: { url, description: "more" } });
        expect([...html.matchAll(/href="([^"]*)"/g)].map(([, href]) => href)).to.eql([
          "data:,",
          "/docs/docs.css",
          "/openapi.json",
        ]);
      }
      const good = pageOf({ externalDocs: { url: "https://example.com/?a=1&b=2", description: "more" } });
      expect(good).to.contain('<a href="https://example.com/?a=1&amp;b=2" rel="noreferrer">more</a>');
    });

    it("renders malformed documents without an error", () => {
      const cyclic: Record<string, unknown> = { type: "object" };
      cyclic["properties"] = { self: cyclic };
      cyclic["example"] = cyclic;
      const primitive = { toString: 1, valueOf: 1 };
      const values = [
        null,
        0,
        "x",
        [],
        [null],
        {},
        primitive,
        [primitive],
        cyclic,
        true,
        Symbol("s"),
        1n,
        Object.create(null),
      ];
      for (const value of values) {
        const operation = {
          tags: value,
          summary: value,
          description: value,
          security: value,
          "x-roles": value,
          parameters: [value, { name: value, in: value, schema: value, example: value, examples: value }],
          requestBody: {
            content: { "application/json": { schema: value, example: value }, "text/x": value },
          },
          responses: {
            200: value,
            201: { content: { "text/plain": { schema: { allOf: value, enum: value } } } },
          },
        };
        const parts = { info: value, tags: value, components: value, security: value, "x-unlisted": value };
        const html = pageOf({ ...parts, paths: { "/a": value, "/b": { get: value, post: operation } } });
        expect(html).to.contain("<code>/b</code>").and.contain("</html>");
        expect(pageOf({ ...parts, paths: value })).to.contain("</html>");
        const schema = {
          type: value,
          properties: value,
          required: value,
          minimum: value,
          multipleOf: value,
          maxLength: value,
        };
        expect(pageOfOperation({ requestBody: { content: { "application/json": { schema } } } })).to.contain(
          "</html>",
        );
      }
    });

    it("renders dangling, circular and malformed references, and references to inherited members", () => {
      const refs = [
        "#/components/schemas/constructor",
        "#/components/schemas/A",
        "#/a%zz",
        "#",
        "other.json",
        "#/info",
      ];
      for (const $ref of refs) {
        const html = pageOfOperation(
          { parameters: [{ $ref }], requestBody: { $ref }, responses: { 200: { $ref } } },
          "/x",
          { schemas: { A: { $ref: "#/components/schemas/B" }, B: { $ref: "#/components/schemas/A" } } },
        );
        expect(html).to.contain("<code>/x</code>");
      }
    });
  });

  describe("of a large document", () => {
    it("DOC-3 stays below 5 MB with 2,000 operations", () => {
      const html = pageOf(documentOf(2000));
      expect(html.match(/<details id=/g)).to.have.length(2000);
      expect(Buffer.byteLength(html)).to.be.below(5_000_000);
    });

    it("shows only method and path of the operations that exceed the page's size limit", () => {
      const description = "long ".repeat(2000);
      const paths: Record<string, unknown> = {};
      for (let index = 0; index < 6000; index++) paths[`/${index}`] = { get: { description } };
      const html = pageOf({ paths });
      expect(Buffer.byteLength(html)).to.be.below(5_000_000);
      expect(html.match(/<details id=/g)?.length).to.be.within(500, 1500);
      expect(html.match(/<b>GET<\/b>/g)).to.have.length(5000);
      expect(html).to.contain("1000 more operations are in the document.");
    });

    it("truncates a schema that grows at every level", () => {
      const schemas: Record<string, unknown> = {};
      for (let level = 0; level < 30; level++) {
        const next = { $ref: `#/components/schemas/L${level + 1}` };
        const names = Array.from({ length: 30 }, (_, index) => [`m${index}`, next]);
        schemas[`L${level}`] = {
          type: "object",
          required: names.map(([name]) => name),
          properties: Object.fromEntries(names) as unknown,
          allOf: Array.from({ length: 30 }, () => next),
          anyOf: Array.from({ length: 30 }, () => next),
        };
      }
      const schema = { $ref: "#/components/schemas/L0" };
      const html = pageOfOperation({ requestBody: { content: { "application/json": { schema } } } }, "/x", {
        schemas,
      });
      expect(html).to.contain("… see the document for more");
      expect(html.length).to.be.below(40_000);
    });
  });

  it("DOC-3 keeps page, script and style of a small service within 12 kB compressed", () => {
    const files = [pageOf(expenses), docsAssets["docs.js"].body, docsAssets["docs.css"].body];
    const sizes = files.map((each) => gzipSync(each).length);
    expect(sizes.reduce((sum, each) => sum + each)).to.be.below(12_000);
  });

  it("contains no inline script or style, and its script has no code that evaluates or stores text", () => {
    const html = pageOf(expenses);
    expect(html).to.contain('<script type="module" src="/docs/docs.js"></script>');
    expect(html).not.to.match(/<style| style=| on\w+=/);
    expect(docsAssets["docs.js"].body).not.to.match(
      /innerHTML|outerHTML|eval|Function\(|insertAdjacent|Storage|cookie\s*=/,
    );
    expect(Object.values(docsAssets).map(({ type }) => type)).to.eql([
      "text/javascript; charset=utf-8",
      "text/css; charset=utf-8",
    ]);
  });
});
