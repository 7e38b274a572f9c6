import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { rawRequest, until } from "@svc/test-support";
import type { RecordedSpan } from "@svc/telemetry";
import { expect } from "chai";
import request from "supertest";
import { canFind, conditions, started } from "../../support/started.ts";

const startFile = new URL("../start.js", import.meta.url);
const packages = [
  "request-id",
  "log",
  "metrics",
  "telemetry",
  "json-body",
  "http-client",
  "health",
  "problem",
  "openapi",
  "rate-limit",
];

for (const [name, args] of Object.entries(conditions)) {
  describe(`the plain Express 5 application, with the ${name} packages`, function () {
    this.timeout(30_000);
    before("packages that are built", function () {
      if (!canFind(args)) this.skip();
    });

    it("has request ids, log records, metrics, spans, health checks and problems, each from its package", async () => {
      await using app = await started(startFile, args);
      const made = await request(app.url)
        .post("/greetings")
        .set("X-Request-ID", "mine")
        .send({ name: "Ada" });
      expect([made.status, made.body]).to.deep.equal([201, { greeting: "Hello, Ada" }]);
      expect(made.headers["x-request-id"]).to.equal("mine");

      const wrong = await request(app.url).post("/greetings").send({});
      expect([wrong.status, wrong.type]).to.deep.equal([422, "application/problem+json"]);
      expect(wrong.body).to.include({ detail: "Request validation failed" });
      const broken = await request(app.url).post("/greetings").type("json").send("{");
      expect([broken.status, broken.type]).to.deep.equal([400, "application/problem+json"]);
      expect((await request(app.url).get("/nowhere")).type).to.equal("application/problem+json");
      expect((await request(app.url).delete("/greetings")).headers["allow"]).to.contain("POST");

      const translated = await request(app.url).get("/translated");
      expect([translated.status, translated.type]).to.deep.equal([503, "application/problem+json"]);
      expect(translated.body).to.include({ detail: "the service 'translator' is not answering" });

      expect(made.headers["ratelimit-limit"]).to.equal("600");
      const { paths } = (await request(app.url).get("/openapi.json")).body as { paths: object };
      expect(paths).to.have.all.keys("/greetings/{name}", "/greetings", "/translated", "/metrics", "/spans");
      expect((await request(app.url).get("/docs")).type).to.equal("text/html");

      expect((await request(app.url).get("/health")).body).to.include({ status: "ok", service: "piecemeal" });
      expect((await request(app.url).get("/ready")).status).to.equal(200);
      const { text } = await request(app.url).get("/metrics");
      expect(text).to.contain('http_requests_total{method="POST",endpoint="/greetings",status="201"} 1');
      const line = app.lines().find((each) => each["request_id"] === "mine");
      expect(line).to.include({ service: "piecemeal", http_method: "POST", http_status: 201 });
      await until("the span", async () => {
        const spans = (await request(app.url).get("/spans")).body as readonly RecordedSpan[];
        return spans.some(
          ({ name, traceId, attributes }) =>
            name === "POST /greetings" &&
            traceId === line?.["trace_id"] &&
            attributes["jfast.request_id"] === "mine",
        );
      });
    });

    it("responds with a problem to requests that Node rejects", async () => {
      await using app = await started(startFile, args);
      const answer = await rawRequest(Number(new URL(app.url).port), "GET / HTTP/1.1\r\nbad header\r\n\r\n");
      expect(answer.status).to.equal(400);
      expect(answer.headers["content-type"]).to.equal("application/problem+json");
    });
  });
}

describe("a package of the plain application", function () {
  this.timeout(30_000);

  for (const name of packages) {
    it(`can be omitted: the application works without @svc/${name}`, async () => {
      const source = readFileSync(new URL("../app.js", import.meta.url), "utf8");
      const marker = `@svc/${name}`;
      const kept = source
        .split("\n")
        .filter((line) => !line.includes(`"${marker}"`) && !new RegExp(`// ${marker}\\b`).test(line))
        .join("\n")
        .replace("{ logger }", name === "log" ? "" : "{ logger }");
      expect(kept).not.to.equal(source);
      // Use a hidden file, so that other tests that list the examples do not see it.
      const file = new URL(`../.child-without-${name}.mjs`, import.meta.url);
      const start = `import { createServer } from "node:http";
const server = createServer(await createApp()).listen(0, "127.0.0.1", () => {
  console.error("http://127.0.0.1:" + server.address().port + "/greetings/you");
});\n`;
      writeFileSync(file, kept + start);
      try {
        await using app = await started(file, conditions.source);
        const { status, body } = await request(app.url).get("/greetings/you");
        expect([status, body]).to.deep.equal([200, { greeting: "Hello, you" }]);
        expect((await request(app.url).get("/health")).status).to.equal(name === "health" ? 404 : 200);
        expect((await request(app.url).get("/metrics")).status).to.equal(name === "metrics" ? 404 : 200);
        expect((await request(app.url).get("/spans")).status).to.equal(name === "telemetry" ? 404 : 200);
        expect((await request(app.url).get("/docs")).status).to.equal(name === "openapi" ? 404 : 200);
        const limits = (await request(app.url).get("/greetings/you")).headers["ratelimit-limit"];
        expect(limits).to.equal(name === "rate-limit" ? undefined : "600");
        const lost = await request(app.url).get("/nowhere");
        expect(lost.status).to.equal(404);
        expect(lost.type).to.equal(name === "problem" ? "text/html" : "application/problem+json");
      } finally {
        rmSync(fileURLToPath(file), { force: true });
      }
    });
  }
});
