import { contextOf } from "@svc/context";
import { badRequest, unprocessable } from "@svc/problem";
import { requireContentType } from "@svc/json-body";
import { rawRequest } from "@svc/test-support";
import { expect } from "chai";
import type { Express } from "express";
import request from "supertest";
import { onBothMajors } from "./support/majors.ts";
import { startService } from "./support/test-service.ts";

const members = ["type", "title", "status", "detail", "instance", "request_id"];

function routes(app: Express): void {
  app.get("/items/:id", (req, res) => void res.json({ id: req.params.id, at: contextOf(req)?.requestId }));
  app.post("/items", requireContentType("application/json"), (req, res) => void res.json(req.body));
  app.put("/items/:id", (_req, res) => void res.sendStatus(204));
  app.get("/crash", () => {
    throw new Error("the password is hunter2");
  });
  app.get("/bad", (_req, _res, next) => next(badRequest("no such month")));
  app.post("/checked", (_req, _res, next) =>
    next(unprocessable([{ type: "missing", loc: ["body", "amount"], msg: "is required" }])),
  );
}

describe("responses of a service", () => {
  onBothMajors((express) => {
    it("VER-2 COR-1 COR-3 echo the caller's request id, even on problems", async () => {
      await using test = await startService({ app: express(), routes });
      const fine = await request(test.url).get("/items/7").set("X-Request-ID", "abc-1");
      expect(fine.headers).to.include({
        "x-request-id": "abc-1",
        "content-type": "application/json; charset=utf-8",
      });
      expect(fine.body).to.deep.equal({ id: "7", at: "abc-1" });
      const missing = await request(test.url).get("/nowhere").set("X-Request-ID", "abc-2");
      expect(missing.headers["x-request-id"]).to.equal("abc-2");
      expect(missing.body).to.include({ status: 404, request_id: "abc-2" });
    });

    it("COR-2 COR-9 COR-12 have a generated request id if the caller sends none, and the access line has that id and the caller's trace", async () => {
      await using test = await startService({ app: express(), routes });
      const traceId = "0af7651916cd43dd8448eb211c80319c";
      const answer = await request(test.url)
        .get("/items/1?secret=x")
        .set("traceparent", `00-${traceId}-b7ad6b7169203331-01`);
      const id: unknown = answer.headers["x-request-id"];
      expect(id).to.match(/^[0-9a-f]{32}$/);
      const line = await test.line((each) => each["message"] === "request");
      expect(line).to.include({
        service: "test",
        env: "local",
        level: "info",
        http_method: "GET",
        http_path: "/items/1",
        http_status: 200,
        request_id: id,
        trace_id: traceId,
      });
    });

    for (const [title, call, status, detail] of [
      ["ERR-11 an unknown path", (url: string) => request(url).get("/nowhere?a=1"), 404, "Not Found"],
      [
        "ERR-9 a known path's other method",
        (url: string) => request(url).delete("/items/1"),
        405,
        "Method Not Allowed",
      ],
      [
        "ENV-4 ERR-7 ERR-8 an exception",
        (url: string) => request(url).get("/crash"),
        500,
        "An unexpected error occurred",
      ],
      ["ERR-1 a problem of a route", (url: string) => request(url).get("/bad"), 400, "no such month"],
      [
        "ERR-15 ERR-16 a body that fails validation",
        (url: string) => request(url).post("/checked").send({}),
        422,
        "Request validation failed",
      ],
      [
        "ERR-18 a wrong content type",
        (url: string) => request(url).post("/items").type("text/plain").send("x"),
        415,
        undefined,
      ],
      [
        "ERR-19 malformed JSON",
        (url: string) => request(url).post("/items").type("json").send('{"a":'),
        400,
        undefined,
      ],
      ["a path that cannot be decoded", (url: string) => request(url).get("/items/%ff"), 400, undefined],
    ] as const) {
      it(`ERR-2 are a ${status} problem with the exact media type for ${title}`, async () => {
        await using test = await startService({ app: express(), routes });
        const answer = await call(test.url);
        expect(answer.status).to.equal(status);
        expect(answer.headers["content-type"]).to.equal("application/problem+json");
        expect(answer.headers["x-request-id"]).to.be.a("string");
        expect(answer.headers).not.to.have.property("x-powered-by");
        const body = answer.body as Record<string, unknown>;
        expect(Object.keys(body)).to.include.members(members);
        expect(body["instance"]).not.to.contain("?");
        if (detail !== undefined) expect(body["detail"]).to.equal(detail);
        expect(answer.text).not.to.contain("hunter2");
      });
    }

    it("ERR-15 ERR-16 list the faults in a body that fails validation", async () => {
      await using test = await startService({ app: express(), routes });
      const answer = await request(test.url).post("/checked").send({});
      expect(answer.status).to.equal(422);
      expect(answer.body).to.deep.include({
        detail: "Request validation failed",
        errors: [{ type: "missing", loc: ["body", "amount"], msg: "is required" }],
      });
    });

    it("ERR-10 list the path's methods in Allow", async () => {
      await using test = await startService({ app: express(), routes });
      const answer = await request(test.url).delete("/items/1");
      expect(answer.headers["allow"]).to.equal("GET, HEAD, PUT");
    });

    it("ENV-4 ERR-7 show an exception's message while debug is on", async () => {
      await using test = await startService({ app: express(), routes, toml: "debug = true\n" });
      const answer = await request(test.url).get("/crash");
      expect(answer.status).to.equal(500);
      expect((answer.body as { detail: string }).detail).to.contain("the password is hunter2");
      expect(answer.text).not.to.contain("wire.test");
    });

    it("LIM-1 LIM-2 are a 413 problem for a body over max_body_bytes of any content type, before any route runs", async () => {
      let reached = 0;
      await using test = await startService({
        app: express(),
        toml: "max_body_bytes = 1000\n",
        routes: (app) => {
          app.post("/echo", (_req, res) => {
            reached++;
            res.sendStatus(204);
          });
        },
      });
      for (const type of ["application/json", "text/plain", "application/octet-stream"]) {
        const answer = await request(test.url)
          .post("/echo")
          .type(type)
          .send(`"${"x".repeat(1000)}"`);
        expect(answer.status, type).to.equal(413);
        expect(answer.headers["content-type"]).to.equal("application/problem+json");
      }
      expect(reached).to.equal(0);
    });

    it("MET-3 MET-8 SYS-7 are counted under the template of their route", async () => {
      await using test = await startService({ app: express(), routes });
      await request(test.url).get("/items/1");
      await request(test.url).get("/nowhere");
      const { text, headers } = await request(test.url).get("/metrics");
      expect(headers["content-type"]).to.equal("text/plain; version=0.0.4");
      expect(text).to.match(/http_requests_total\{[^}]*endpoint="\/items\/:id"[^}]*status="200"[^}]*\} 1/);
      expect(text).to.match(/http_requests_total\{[^}]*endpoint="<unmatched>"[^}]*status="404"[^}]*\} 1/);
      expect(text).to.contain('service_info{service="test",version="0.1.0"} 1');
    });

    it("have an ETag for conditional requests with etag = true, and none with etag = false", async () => {
      await using tagged = await startService({ app: express(), routes });
      const first = await request(tagged.url).get("/items/1").set("X-Request-ID", "a");
      const tag = String(first.headers["etag"]);
      expect(tag).to.match(/^W\/"/);
      const second = await request(tagged.url)
        .get("/items/1")
        .set({ "X-Request-ID": "a", "If-None-Match": tag });
      expect(second.status).to.equal(304);
      await using plain = await startService({ app: express(), routes, toml: "etag = false\n" });
      const untagged = await request(plain.url).get("/items/1");
      expect(untagged.headers).not.to.have.property("etag");
    });

    it("include headers from the application's middleware, which runs after the request id is set and before the routes", async () => {
      const seen: unknown[] = [];
      await using test = await startService({
        app: express(),
        routes,
        middleware: [
          (req, _res, next) => {
            seen.push(contextOf(req)?.requestId);
            next(null);
          },
          (_req, res, next) => {
            res.setHeader("X-Second", "yes");
            next();
          },
        ],
      });
      const answer = await request(test.url).get("/items/1").set("X-Request-ID", "own");
      expect(seen).to.deep.equal(["own"]);
      expect(answer.headers["x-second"]).to.equal("yes");
      expect(answer.status).to.equal(200);
    });
  });

  it("are a 500 problem when the application's middleware rejects on Express 5", async () => {
    await using test = await startService({
      routes,
      middleware: [
        async () => {
          await Promise.resolve();
          throw new Error("the session store is down");
        },
      ],
    });
    const answer = await request(test.url).get("/items/1");
    expect(answer.status).to.equal(500);
    expect(answer.body).to.include({ detail: "An unexpected error occurred" });
  });
});

describe("hostile and unusual requests", () => {
  const post = (type: string, body: string, more = ""): string =>
    `POST /items HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\n${more}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
  const get = (target: string, version = "1.1"): string => `GET ${target} HTTP/${version}\r\nHost: x\r\n\r\n`;
  const requests: Readonly<Record<string, readonly [bytes: string, status: number]>> = {
    "lists nested 5,000 deep": [post("application/json", "[".repeat(5000) + "]".repeat(5000)), 400],
    "a member __proto__": [post("application/json", '{"__proto__":{"admin":true}}'), 400],
    "a body that is not gzip": [post("application/json", "{}", "Content-Encoding: gzip\r\n"), 400],
    "an unknown encoding": [post("application/json", "{}", "Content-Encoding: zip\r\n"), 415],
    "an unknown charset": [post("application/json; charset=klingon", "{}"), 415],
    "a broken escape in the path": [get("/items/%E0%A4%A"), 400],
    "a path that contains only slashes": [get("//evil.test/%2e%2e"), 404],
    "a target that is not a path": [get("items"), 400],
    "a target that is not a URL": [get("http://"), 400],
    "a query that names __proto__": [get("/items/1?a[__proto__][b]=1"), 200],
    "an asterisk": ["OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 404],
    "HTTP/1.0 without a Host": ["GET /items/1 HTTP/1.0\r\n\r\n", 200],
    "an upgrade request": [
      "GET /items/1 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
      200,
    ],
    TRACE: ["TRACE /items/1 HTTP/1.1\r\nHost: x\r\n\r\n", 405],
    CONNECT: ["CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test\r\n\r\n", 405],
  };

  onBothMajors((express) => {
    for (const [title, [bytes, status]] of Object.entries(requests)) {
      it(`ERR-1 get a ${status} and never a 500: ${title}`, async () => {
        await using test = await startService({ app: express(), routes });
        const answer = await rawRequest(test.port, bytes);
        expect(answer.status).to.equal(status);
        expect(answer.headers["x-request-id"]).to.match(/^[!-~]+$/);
        if (status >= 400) {
          expect(answer.headers["content-type"]).to.equal("application/problem+json");
          expect(JSON.parse(answer.body)).to.include({ status, request_id: answer.headers["x-request-id"] });
        }
        expect((await request(test.url).get("/health")).status).to.equal(200);
      });
    }
  });
});

describe("requests that are handled outside the application", () => {
  for (const [title, bytes, status] of [
    ["an invalid request line", "NONSENSE\r\n\r\n", 400],
    ["an unknown method", "BREW / HTTP/1.1\r\nHost: x\r\n\r\n", 400],
    ["a missing Host", "GET / HTTP/1.1\r\n\r\n", 400],
    ["two Hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400],
    ["a control character in a header", "GET / HTTP/1.1\r\nHost: x\r\nA: \u0001\r\n\r\n", 400],
    ["a NUL in a header", "GET / HTTP/1.1\r\nHost: x\r\nA: a\u0000b\r\n\r\n", 400],
    [
      "Content-Length together with chunks",
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      400,
    ],
    ["two lengths", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc", 400],
    ["a folded header", "GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n", 400],
    ["20 kB of headers", `GET / HTTP/1.1\r\nHost: x\r\nA: ${"a".repeat(20_000)}\r\n\r\n`, 431],
    ["an unknown expectation", "GET / HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n\r\n", 417],
  ] as const) {
    it(`ERR-21 get a problem with a request id: ${title}`, async () => {
      const reached: string[] = [];
      await using test = await startService({
        routes: (app) => {
          app.use((req, res) => {
            reached.push(req.url);
            res.end();
          });
        },
      });
      const answer = await rawRequest(test.port, bytes);
      expect(answer.status).to.equal(status);
      expect(answer.headers["content-type"]).to.equal("application/problem+json");
      expect(answer.headers["connection"]).to.equal("close");
      expect(answer.headers["x-request-id"]).to.match(/^[0-9a-f]{32}$/);
      expect(JSON.parse(answer.body)).to.include({ status, request_id: answer.headers["x-request-id"] });
      expect(reached).to.deep.equal([]);
    });
  }

  it("get the response for the path when their target is an absolute URL", async () => {
    await using test = await startService();
    const answer = await rawRequest(
      test.port,
      "GET http://example.com/health?a=1 HTTP/1.1\r\nHost: example.com\r\n\r\n",
    );
    expect(answer.status).to.equal(200);
    expect(JSON.parse(answer.body)).to.include({ status: "ok", service: "test" });
  });
});
