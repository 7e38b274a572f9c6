import { once } from "node:events";
import { createServer } from "node:http";
import { connect } from "node:net";
import { metrics } from "@svc/metrics";
import { expressMajors, listen, rawRequest } from "@svc/test-support";
import { expect } from "chai";
import type { ErrorRequestHandler } from "express";
import request from "supertest";
import { samples } from "./support/scrape.ts";

const quiet = { defaultMetrics: false, eventLoopDelay: false } as const;

for (const [name, express] of Object.entries(expressMajors)) {
  describe(`metrics() on ${name}`, () => {
    it("MET-3 counts requests by method, route template and status", async () => {
      const counted = metrics(quiet);
      const app = express().use(counted);
      app.get("/items/:id", (req, res) => void res.sendStatus(req.params["id"] === "0" ? 404 : 200));
      app.post("/items", (_req, res) => void res.sendStatus(201));
      await request(app).get("/items/1");
      await request(app).get("/items/2");
      await request(app).get("/items/0");
      await request(app).head("/items/1");
      await request(app).post("/items");
      expect(await samples(counted, "http_requests_total")).to.deep.equal({
        'http_requests_total{method="GET",endpoint="/items/:id",status="200"}': "2",
        'http_requests_total{method="GET",endpoint="/items/:id",status="404"}': "1",
        'http_requests_total{method="HEAD",endpoint="/items/:id",status="200"}': "1",
        'http_requests_total{method="POST",endpoint="/items",status="201"}': "1",
      });
    });

    it("MET-8 MET-10 labels requests with the route template, including mount paths, even after an error", async () => {
      const counted = metrics(quiet);
      const router = express.Router();
      router.get("/things/:id", (_req, res) => void res.sendStatus(200));
      router.get("/boom/:id", () => {
        throw new Error("boom");
      });
      const app = express().use(counted).use("/t/:tenant", router);
      const failed: ErrorRequestHandler = (_err, _req, res, _next) => void res.sendStatus(500);
      app.use(failed);
      await request(app).get("/t/acme/things/7").expect(200);
      await request(app).get("/t/acme/boom/7").expect(500);
      expect(await samples(counted, "http_requests_total")).to.deep.equal({
        'http_requests_total{method="GET",endpoint="/t/:tenant/things/:id",status="200"}': "1",
        'http_requests_total{method="GET",endpoint="/t/:tenant/boom/:id",status="500"}': "1",
      });
    });

    it("MET-9 MET-10 counts 10,000 random paths in one series", async function () {
      this.timeout(60_000);
      const counted = metrics(quiet);
      const app = express().use(counted);
      app.get("/known", (_req, res) => void res.sendStatus(200));
      app.use((_req, res) => void res.status(404).end());
      await using server = await listen(app);
      const lines = Array.from({ length: 10_000 }, (_, index) => {
        const close = index === 9_999 ? "Connection: close\r\n" : "";
        return `GET /${Math.random().toString(36).slice(2)}/${index} HTTP/1.1\r\nHost: x\r\n${close}\r\n`;
      });
      await rawRequest(server.port, lines.join(""), { idleMs: 10_000, endMs: 60_000 });
      expect(await samples(counted, "http_requests_total")).to.deep.equal({
        'http_requests_total{method="GET",endpoint="<unmatched>",status="404"}': "10000",
      });
    });
  });
}

describe("metrics()", () => {
  it("MET-9 counts requests on a bare server under <unmatched>", async () => {
    const counted = metrics(quiet);
    await using server = await listen((req, res) => counted(req, res, () => res.end("ok")));
    await (await fetch(`${server.url}/secret/path?query=1`)).text();
    expect(await samples(counted, "http_requests_total")).to.deep.equal({
      'http_requests_total{method="GET",endpoint="<unmatched>",status="200"}': "1",
    });
  });

  it("MET-3 labels a non-standard method as OTHER", async () => {
    const counted = metrics(quiet);
    await using server = await listen((req, res) => counted(req, res, () => res.end()));
    for (const method of ["PROPFIND", "PURGE", "DELETE"]) await fetch(server.url, { method });
    expect(await samples(counted, "http_requests_total")).to.deep.equal({
      'http_requests_total{method="DELETE",endpoint="<unmatched>",status="200"}': "1",
      'http_requests_total{method="OTHER",endpoint="<unmatched>",status="200"}': "2",
    });
  });

  it("MET-4 measures durations in seconds from the start of the context", async () => {
    const counted = metrics({ ...quiet, buckets: [0.02, 60] });
    await using server = await listen((req, res) =>
      counted(req, res, () => void setTimeout(() => res.end(), 40)),
    );
    await (await fetch(server.url)).text();
    const seen = await samples(counted, "http_request_duration_seconds");
    const labels = 'method="GET",endpoint="<unmatched>"';
    expect(seen).to.have.all.keys(
      `http_request_duration_seconds_bucket{le="0.02",${labels}}`,
      `http_request_duration_seconds_bucket{le="60",${labels}}`,
      `http_request_duration_seconds_bucket{le="+Inf",${labels}}`,
      `http_request_duration_seconds_sum{${labels}}`,
      `http_request_duration_seconds_count{${labels}}`,
    );
    expect(seen[`http_request_duration_seconds_bucket{le="0.02",${labels}}`]).to.equal("0");
    expect(seen[`http_request_duration_seconds_bucket{le="60",${labels}}`]).to.equal("1");
    expect(Number(seen[`http_request_duration_seconds_sum{${labels}}`])).to.be.within(0.02, 60);
  });

  it("MET-5 shows requests in progress by method until they end", async () => {
    const counted = metrics(quiet);
    const held: (() => void)[] = [];
    await using server = await listen((req, res) => counted(req, res, () => held.push(() => res.end())));
    const answers = [fetch(server.url), fetch(server.url), fetch(server.url, { method: "POST" })];
    while (held.length < 3) await new Promise((resolve) => setImmediate(resolve));
    expect(await samples(counted, "http_requests_in_progress")).to.deep.equal({
      'http_requests_in_progress{method="GET"}': "2",
      'http_requests_in_progress{method="POST"}': "1",
    });
    for (const end of held) end();
    for (const answer of answers) await (await answer).text();
    expect(await samples(counted, "http_requests_in_progress")).to.deep.equal({
      'http_requests_in_progress{method="GET"}': "0",
      'http_requests_in_progress{method="POST"}': "0",
    });
  });

  it("MET-5 decrements the gauge of the original method when a middleware overrides the method", async () => {
    const counted = metrics(quiet);
    await using server = await listen((req, res) =>
      counted(req, res, () => {
        req.method = "DELETE";
        res.end();
      }),
    );
    await (await fetch(server.url, { method: "POST" })).text();
    expect(await samples(counted, "http_requests_in_progress")).to.deep.equal({
      'http_requests_in_progress{method="POST"}': "0",
    });
  });

  it("MET-6 shows service and version in service_info", async () => {
    expect(
      await samples(metrics({ ...quiet, service: "orders", version: "1.2.3" }), "service"),
    ).to.deep.equal({
      'service_info{service="orders",version="1.2.3"}': "1",
    });
    expect(await samples(metrics(quiet), "service")).to.deep.equal({
      'service_info{service="unknown",version="unknown"}': "1",
    });
  });

  it("counts a request with status 499 when the client disconnects before the response begins", async () => {
    const counted = metrics(quiet);
    await using server = await listen((req, res) => counted(req, res, () => void res.on("close", () => {})));
    const socket = connect(server.port, "127.0.0.1");
    const arrived = once(server.server, "request");
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    const [, res] = (await arrived) as [unknown, NodeJS.EventEmitter];
    const closed = once(res, "close");
    socket.destroy();
    await closed;
    expect(await samples(counted, "http_requests")).to.deep.equal({
      'http_requests_total{method="GET",endpoint="<unmatched>",status="499"}': "1",
      'http_requests_in_progress{method="GET"}': "0",
    });
  });

  it("counts a request with the sent status when the client disconnects during the response", async () => {
    const counted = metrics(quiet);
    await using server = await listen((req, res) =>
      counted(req, res, () => {
        res.writeHead(206);
        res.write("begin");
      }),
    );
    const socket = connect(server.port, "127.0.0.1");
    const arrived = once(server.server, "request");
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    const [, res] = (await arrived) as [unknown, NodeJS.EventEmitter];
    await once(socket, "data");
    const closed = once(res, "close");
    socket.destroy();
    await closed;
    expect(await samples(counted, "http_requests_total")).to.deep.equal({
      'http_requests_total{method="GET",endpoint="<unmatched>",status="206"}': "1",
    });
  });

  it("MET-10 counts requests beyond maxSeries under <other>, and reports this in a non-critical check", async () => {
    const counted = metrics({ ...quiet, maxSeries: 2 });
    const app = expressMajors["express 5"]().use(counted);
    for (const path of ["/a", "/b", "/c", "/d"]) app.get(path, (_req, res) => void res.sendStatus(200));
    const check = counted.readiness();
    await request(app).get("/a");
    await request(app).get("/b");
    await request(app).get("/none");
    const signal = new AbortController().signal;
    expect(await check.check(signal)).to.deep.equal({
      healthy: true,
      detail: "2 of 2 pairs of method and endpoint",
    });
    for (const path of ["/c", "/d", "/a"]) await request(app).get(path);
    expect(await samples(counted, "http_requests_total")).to.deep.equal({
      'http_requests_total{method="GET",endpoint="/a",status="200"}': "2",
      'http_requests_total{method="GET",endpoint="/b",status="200"}': "1",
      'http_requests_total{method="GET",endpoint="<unmatched>",status="404"}': "1",
      'http_requests_total{method="GET",endpoint="<other>",status="200"}': "2",
    });
    expect(await check.check(signal)).to.deep.equal({
      healthy: false,
      detail: "more than 2 pairs of method and endpoint: the others are counted under <other>",
    });
  });

  it("RDY-18 returns a readiness check that is never critical", async () => {
    const check = metrics({ ...quiet, maxSeries: 1 }).readiness();
    expect(check).to.include({ name: "metrics", critical: false });
    expect(await check.check(new AbortController().signal)).not.to.have.property("critical");
  });

  it("clears its counts, but not requests in progress, when the registry is reset", async () => {
    const counted = metrics(quiet);
    const held: (() => void)[] = [];
    const server = createServer((req, res) =>
      counted(req, res, () => (req.url === "/held" ? void held.push(() => res.end()) : void res.end())),
    );
    await using listening = await listen(server);
    await (await fetch(listening.url)).text();
    const answer = fetch(`${listening.url}/held`);
    while (held.length === 0) await new Promise((resolve) => setImmediate(resolve));
    counted.registry.resetMetrics();
    expect(await samples(counted, "http_")).to.deep.equal({ 'http_requests_in_progress{method="GET"}': "1" });
    held[0]?.();
    await (await answer).text();
    expect(await samples(counted, "http_requests")).to.deep.equal({
      'http_requests_total{method="GET",endpoint="<unmatched>",status="200"}': "1",
      'http_requests_in_progress{method="GET"}': "0",
    });
  });
});
