import { createRequire } from "node:module";
import { rawRequest } from "@svc/test-support";
import { expect } from "chai";
import request from "supertest";
import { canFind, conditions, started } from "../../support/started.ts";

const startFile = new URL("../start.js", import.meta.url);

for (const [name, args] of Object.entries(conditions)) {
  describe(`the Express 4 application in CommonJS, with the ${name} packages`, function () {
    this.timeout(30_000);
    before("packages that are built", function () {
      if (!canFind(args)) this.skip();
    });

    it("serves routes, problems, health and metrics with packages loaded by require()", async () => {
      await using app = await started(startFile, args);
      const saved = await request(app.url).put("/things/1").set("X-Request-ID", "mine").send({ name: "new" });
      expect([saved.status, saved.body]).to.deep.equal([200, { saved: "1", request_id: "mine" }]);
      expect((await request(app.url).get("/things/1")).body).to.deep.equal({ id: "1", name: "new" });

      for (const call of [request(app.url).get("/things/2"), request(app.url).put("/things/2").send({})]) {
        const { status, type, body } = await call;
        expect({ status, type }).to.deep.equal({ status: 404, type: "application/problem+json" });
        expect(body).to.include({ detail: "no thing has this id", instance: "/things/2" });
      }
      const broken = await request(app.url).put("/things/1").type("json").send("{");
      expect([broken.status, broken.type]).to.deep.equal([400, "application/problem+json"]);
      expect((await request(app.url).get("/things/%ff")).status).to.equal(400);
      expect((await request(app.url).post("/things/1")).headers["allow"])
        .to.match(/GET/)
        .and.to.match(/PUT/);

      expect((await request(app.url).get("/health")).body).to.include({ status: "ok", service: "legacy" });
      expect((await request(app.url).get("/ready")).status).to.equal(200);
      const document = (await request(app.url).get("/openapi.json")).body as {
        paths: Record<string, Record<string, { summary: string }>>;
      };
      expect(document.paths["/things/{id}"]?.["get"]?.summary).to.equal("Returns a thing");
      expect(document.paths["/things/{id}"]).to.have.property("put");
      const { text } = await request(app.url).get("/metrics");
      expect(text).to.contain('http_requests_total{method="PUT",endpoint="/things/:id",status="200"} 1');
      const line = app.lines().find((each) => each["request_id"] === "mine");
      expect(line).to.include({ service: "legacy", http_method: "PUT", http_status: 200 });
    });

    it("responds with a problem to requests that Node rejects", async () => {
      await using app = await started(startFile, args);
      const answer = await rawRequest(Number(new URL(app.url).port), "GET / HTTP/1.1\r\nbad header\r\n\r\n");
      expect(answer.status).to.equal(400);
      expect(answer.headers["content-type"]).to.equal("application/problem+json");
    });
  });
}

it("the legacy application runs on Express 4", () => {
  const { version } = createRequire(startFile)("express/package.json") as { version: string };
  expect(version).to.match(/^4\./);
});
