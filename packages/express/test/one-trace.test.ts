import { createDatabase } from "@svc/database";
import { testDatabase } from "@svc/dev-services";
import { createJobTable } from "@svc/job-table";
import { requestId } from "@svc/request-id";
import { telemetry } from "@svc/telemetry";
import { listen, until } from "@svc/test-support";
import { openOtlpReceiver, type OtlpReceiver, type ReceivedSpan, treeOf } from "@svc/test-support/otlp";
import { expect } from "chai";
import { once } from "node:events";
import { type IncomingMessage, request as httpRequest } from "node:http";
import express, { type RequestHandler } from "express";
import request from "supertest";
import { type Child, runChild } from "./support/child.ts";
import { orderProgram, orderService, orderToml } from "./support/one-trace-service.ts";
import { type LogLine, startService } from "./support/test-service.ts";

const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER = "00f067aa0ba902b7";
const TRACEPARENT = `00-${TRACE_ID}-${CALLER}-01`;

const jobTree: readonly string[] = [
  "consumer job order.bill",
  "  client BEGIN",
  "  client UPDATE orders",
  // The statement that queues several jobs is a select from an insert.
  "  client SELECT",
  "  client COMMIT",
  "  consumer job order.billed->note",
  "    consumer event order.billed",
  "      client BEGIN",
  "      client INSERT notes",
  "      client COMMIT",
];

function requestTree(table: string): readonly string[] {
  return [
    "server POST /orders",
    "  client INSERT orders",
    `  client INSERT ${table}`,
    ...jobTree.map((line) => `  ${line}`),
  ];
}

const isDone =
  (task: string, requestId: string) =>
  (line: LogLine): boolean =>
    line["message"] === "job done" && line["task"] === task && line["request_id"] === requestId;

/**
 * Sends an order, and returns the response's status. Sends the body once the service has received the head, so that the
 * body's end is an event of the connection, outside the request's asynchronous context.
 */
async function order(url: string, id: string, more: Readonly<Record<string, string>> = {}): Promise<number> {
  const headers = { "X-Request-ID": id, "Content-Type": "application/json", Expect: "100-continue", ...more };
  const sent = httpRequest(`${url}/orders`, { method: "POST", headers });
  sent.flushHeaders();
  await once(sent, "continue");
  sent.end(JSON.stringify({ id }));
  const [{ statusCode = 0 }] = (await once(sent, "response")) as [IncomingMessage];
  return statusCode;
}

describe("one trace", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "express-one-trace" });
  let receiver: OtlpReceiver;

  before(async () => {
    await using db = createDatabase({ url: database.url });
    await db.query("create table orders (id text primary key, bill text)");
    await db.query("create table notes (id text)");
    receiver = await openOtlpReceiver();
  });
  after(() => receiver[Symbol.asyncDispose]());

  const env = () => ({ DATABASE_URL: database.url, SVC_TELEMETRY_ENDPOINT: receiver.url });

  describe("of a server and a worker in two processes", () => {
    let server: Child;
    let worker: Child;
    let spans: readonly ReceivedSpan[];

    before(async () => {
      const start = (role: string): Promise<Child> =>
        runChild(orderProgram, { env: { ...env(), TOML: orderToml("pair"), ROLE: role } });
      [server, worker] = await Promise.all([start("server"), start("worker")]);
      await Promise.all([server.listening(), worker.listening()]);
      // Send the orders one after the other: later jobs within ten milliseconds of the first one share a delayed notification.
      expect(await order(server.url(), "o-1", { traceparent: TRACEPARENT })).to.equal(201);
      await worker.line(isDone("order.billed->note", "o-1"));
      expect(await order(server.url(), "o-2")).to.equal(201);
      await worker.line(isDone("order.billed->note", "o-2"));
      await using db = createDatabase({ url: database.url });
      const table = createJobTable({ db, name: "pair_jobs" });
      await table.enqueue({ task: "order.bill", payload: { id: "o-3" }, requestId: "o-3" });
      await worker.line(isDone("order.billed->note", "o-3"));
      for (const child of [server, worker]) {
        for (const path of ["/health", "/ready", "/metrics"]) {
          expect((await fetch(child.url() + path)).status).to.equal(200);
        }
        // The last spans are exported when a process ends.
        child.kill("SIGTERM");
        expect(await child.ended).to.deep.equal({ code: 0, signal: null });
      }
      spans = receiver.spans;
    });
    after(async () => {
      await server?.[Symbol.asyncDispose]();
      await worker?.[Symbol.asyncDispose]();
    });

    /** Returns the spans of the trace that a job's log line names. */
    function traceOf(requestId: string): readonly ReceivedSpan[] {
      const line = worker.lines().find(isDone("order.bill", requestId));
      expect(line?.["trace_id"]).to.match(/^[0-9a-f]{32}$/);
      return spans.filter(({ traceId }) => traceId === line?.["trace_id"]);
    }

    it("TRACE-8 TRACE-13 TRACE-18 TRACE-20 continues the caller's trace from the request to the subscriber", () => {
      const trace = spans.filter(({ traceId }) => traceId === TRACE_ID);
      expect(treeOf(trace, CALLER)).to.deep.equal(requestTree("pair_jobs"));
      expect(treeOf(traceOf("o-1"), CALLER)).to.deep.equal(requestTree("pair_jobs"));
    });

    it("TRACE-13 TRACE-20 starts a new trace at a request without a traceparent, and continues it in the request's jobs", () => {
      expect(treeOf(traceOf("o-2"), undefined)).to.deep.equal(requestTree("pair_jobs"));
    });

    it("TRACE-13 starts a new trace at a job without a trace", () => {
      expect(treeOf(traceOf("o-3"), undefined)).to.deep.equal(jobTree);
    });

    it("TRACE-22 TRACE-30 exports every span once, and no span of polls, probes and the service's own events", () => {
      const traceIds = ["o-1", "o-2", "o-3"].map((id) => traceOf(id)[0]?.traceId);
      const expected = 2 * requestTree("").length + jobTree.length;
      expect(new Set(traceIds)).to.have.property("size", 3);
      expect(new Set(spans.map(({ traceId }) => traceId))).to.deep.equal(new Set(traceIds));
      expect(new Set(spans.map(({ spanId }) => spanId))).to.have.property("size", expected);
      expect(spans).to.have.lengthOf(expected);
      expect(receiver.requests.flatMap(({ fault }) => fault ?? [])).to.deep.equal([]);
    });

    it("TRACE-8 TRACE-13 TRACE-14 records the attributes of statements, jobs and events", () => {
      const trace = traceOf("o-1");
      const named = (name: string): ReceivedSpan =>
        trace.find((each) => each.name === name) ?? expect.fail(name);
      for (const { resource } of trace) {
        expect(resource).to.include({ "service.name": "pair", "deployment.environment.name": "local" });
        expect(resource).to.have.property("service.version");
      }
      expect(named("POST /orders").attributes).to.include({
        "http.route": "/orders",
        "jfast.request_id": "o-1",
      });
      expect(named("INSERT orders").attributes).to.deep.equal({
        "db.system": "postgresql",
        "db.name": new URL(database.url).pathname.slice(1),
        "db.operation": "INSERT",
        "db.sql.table": "orders",
        "db.rows_affected": 1,
      });
      const { "messaging.message.id": job, ...jobAttributes } = named("job order.bill").attributes;
      expect(jobAttributes).to.deep.equal({
        "messaging.system": "svc_jobs",
        "messaging.destination.name": "pair_jobs",
        "svc.job.attempts": 1,
      });
      expect(worker.lines().find(isDone("order.bill", "o-1"))).to.include({ job_id: job });
      const { "messaging.message.id": event, ...eventAttributes } = named("event order.billed").attributes;
      expect(event).to.be.a("string").and.not.equal(job);
      expect(eventAttributes).to.deep.equal({
        "messaging.system": "svc_jobs",
        "messaging.destination.name": "order.billed",
        "svc.job.attempts": 1,
      });
    });

    it("LOG-4 COR-12 logs the trace of a request and of its jobs", () => {
      for (const id of ["o-1", "o-2"]) {
        const access = server
          .lines()
          .find((line) => line["message"] === "request" && line["request_id"] === id);
        const lines = ["order.bill", "order.billed->note"].map((task) =>
          worker.lines().find(isDone(task, id)),
        );
        const [{ traceId } = { traceId: undefined }] = traceOf(id);
        expect([access, ...lines].map((line) => line?.["trace_id"])).to.deep.equal([
          traceId,
          traceId,
          traceId,
        ]);
      }
    });
  });

  describe("of a process that serves requests and runs jobs", () => {
    it("TRACE-13 TRACE-20 creates the same spans as two processes, and starts a new trace at a job without a trace", async () => {
      receiver.clear();
      {
        await using test = await startService({
          ...orderService,
          config: { toml: orderToml("both") },
          env: env(),
        });
        expect(await order(test.url, "p-1", { traceparent: TRACEPARENT })).to.equal(201);
        await test.line(isDone("order.billed->note", "p-1"));
        const { status } = await request(test.url).post("/orders/p-2/untraced").set("X-Request-ID", "p-2");
        expect(status).to.equal(202);
        await test.line(isDone("order.billed->note", "p-2"));
      }
      const { spans } = receiver;
      expect(treeOf(spans, CALLER)).to.deep.equal(requestTree("both_jobs"));
      expect(treeOf(spans, undefined)).to.deep.equal([
        "server POST /orders/:id/untraced",
        "  client INSERT both_jobs",
        ...jobTree,
      ]);
    });
  });

  describe("of an application with other body parsers", () => {
    const losesContext: RequestHandler = (req, _res, next) => {
      req.on("end", next);
      req.resume();
    };
    const parsers: Readonly<Record<string, readonly RequestHandler[]>> = {
      "express.json()": [express.json()],
      "a parser that loses the asynchronous context, with requestId() behind it": [losesContext, requestId()],
    };
    for (const [name, layers] of Object.entries(parsers)) {
      it(`TRACE-8 makes the span of a statement after ${name} a child of the request's span`, async () => {
        await using db = createDatabase({ url: database.url });
        await using tracing = telemetry({ service: "orders", exporter: "memory" });
        await tracing.ready;
        tracing.traceQueries(db);
        const app = express().use(requestId(), tracing, ...layers);
        app.post("/orders", async (_req, res) => {
          await db.query("select id from notes");
          res.end();
        });
        await using server = await listen(app);
        expect(await order(server.url, "q-1")).to.equal(200);
        const [statement, request] = await until("both spans", () => {
          const spans = tracing.spans();
          return spans.length > 1 && spans;
        });
        expect(request).to.include({ name: "POST /orders", parentSpanId: undefined });
        expect(statement).to.include({ name: "SELECT notes", parentSpanId: request?.spanId });
      });
    }
  });
});
