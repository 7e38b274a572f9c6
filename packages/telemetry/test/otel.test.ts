import { createRequire } from "node:module";
import * as api from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { contextOf } from "@svc/context";
import { testDatabase } from "@svc/dev-services";
import { propagationHeaders } from "@svc/request-id";
import { telemetry } from "@svc/telemetry";
import { openTelemetry } from "@svc/telemetry/otel";
import { listen, until } from "@svc/test-support";
import { expect } from "chai";
import express from "express";
import pg from "pg";
import { type EndedProgram, runProgram } from "./support/preload-program.ts";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const TRACEPARENT = `00-${TRACE_ID}-b7ad6b7169203331-01`;

describe("openTelemetry()", () => {
  const database = testDatabase({ name: "telemetry_otel" });
  let exporter: InMemorySpanExporter;

  /** Registers the application's own OpenTelemetry, with one of the two copies of the API. */
  function register({ context, trace }: typeof api): void {
    exporter = new InMemorySpanExporter();
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    const spanProcessors = [new SimpleSpanProcessor({ exporter })];
    trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors }));
  }
  function unregister({ context, trace }: typeof api): void {
    trace.disable();
    context.disable();
  }
  afterEach(() => unregister(api));

  async function spans(count: number): Promise<ReadableSpan[]> {
    return until(`${count} spans`, () => {
      const finished = exporter.getFinishedSpans();
      return finished.length === count && finished;
    });
  }

  it("TRACE-7 TRACE-8 TRACE-18 creates spans with the provider of the application", async () => {
    register(api);
    const tracing = openTelemetry();
    await using pool = Object.assign(new pg.Pool({ connectionString: database.url, max: 1 }), {
      [Symbol.asyncDispose]: () => pool.end(),
    });
    tracing.traceQueries(pool);
    const app = express().use(tracing);
    app.get("/orders/:id", async (_req, res) => {
      await pool.query("select relname from pg_class limit 1");
      await tracing.span("price order", "internal", { "rag.hits": 1 }, async () => undefined);
      res.end();
    });
    await using server = await listen(app);
    await fetch(`${server.url}/orders/1`, { headers: { traceparent: TRACEPARENT } });
    const [statement, inner, request] = await spans(3);
    expect(request).to.deep.include({ name: "GET /orders/:id", kind: api.SpanKind.SERVER });
    expect(request?.spanContext().traceId).to.equal(TRACE_ID);
    expect(request?.attributes).to.deep.equal({
      "http.request.method": "GET",
      "http.route": "/orders/:id",
      "http.response.status_code": 200,
    });
    expect([statement?.name, inner?.name]).to.deep.equal(["SELECT pg_class", "price order"]);
    for (const child of [statement, inner])
      expect(child?.parentSpanContext?.spanId).to.equal(request?.spanContext().spanId);
  });

  it("creates spans with a provider that is registered later, through the CommonJS copy of the API", async () => {
    const required = createRequire(import.meta.url)("@opentelemetry/api") as typeof api;
    expect(required).not.to.equal(api);
    const tracing = openTelemetry();
    register(required);
    try {
      await using server = await listen((req, res) => tracing(req, res, () => res.end()));
      await fetch(server.url);
      expect((await spans(1))[0]).to.include({ name: "GET" });
    } finally {
      unregister(required);
    }
  });

  it("COR-15 creates no span for an excluded path", async () => {
    register(api);
    const tracing = openTelemetry({ excludePaths: ["/ping"] });
    await using server = await listen((req, res) =>
      tracing(req, res, () => res.writeHead(req.url === "/other" ? 202 : 200).end()),
    );
    await fetch(`${server.url}/ping`);
    await fetch(`${server.url}/other`);
    const [span] = await spans(1);
    expect(span?.attributes).to.include({ "http.response.status_code": 202 });
  });

  it("COR-13 starts no trace without a provider", async () => {
    const tracing = openTelemetry();
    await using server = await listen((req, res) =>
      tracing(req, res, () => res.end(JSON.stringify(contextOf(req)?.trace ?? null))),
    );
    expect(await (await fetch(server.url)).json()).to.equal(null);
    const headers = { traceparent: TRACEPARENT };
    expect(await (await fetch(server.url, { headers })).json()).to.deep.equal({
      traceId: TRACE_ID,
      traceparent: TRACEPARENT,
    });
  });

  it("rejects an option that only telemetry() accepts", () => {
    expect(() => openTelemetry({ exporter: "memory" } as never)).to.throw(/openTelemetry\(\).*exporter/s);
  });
});

describe("telemetry() in an application with its own OpenTelemetry SDK", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "telemetry_beside" });

  /**
   * Runs a service with the instrumentations of HTTP and Express, which print their spans.
   *
   * @param before middleware before that of telemetry()
   */
  async function besideInstrumentations(before = "(_req, _res, next) => next()"): Promise<EndedProgram> {
    const sdk = `
      const { context, SpanKind, trace } = require("@opentelemetry/api");
      const { AsyncLocalStorageContextManager } = require("@opentelemetry/context-async-hooks");
      const { ExpressInstrumentation } = require("@opentelemetry/instrumentation-express");
      const { HttpInstrumentation } = require("@opentelemetry/instrumentation-http");
      const { TracerProvider } = require("@opentelemetry/sdk-trace");
      const printer = {
        onStart() {},
        onEnd(span) {
          const { traceId, spanId } = span.spanContext();
          console.log(JSON.stringify({ name: span.name, kind: SpanKind[span.kind], traceId, spanId }));
        },
        forceFlush: async () => undefined,
        shutdown: async () => undefined,
      };
      trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [printer] }));
      context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
      const ignoreLayersType = ["middleware", "router", "request_handler"];
      new HttpInstrumentation();
      new ExpressInstrumentation({ ignoreLayersType });
    `;
    const app = `
      const { trace } = require("@opentelemetry/api");
      const { telemetry } = require("@svc/telemetry");
      const express = require("express");
      const pg = require("pg");
      const tracing = telemetry({ service: "orders", endpoint: process.env.OTLP });
      const pool = new pg.Pool({ connectionString: process.env.DB, max: 1 });
      tracing.traceQueries(pool);
      const app = express().use(${before}, tracing);
      app.get("/orders/:id", async (_req, res) => {
        await pool.query("select relname from pg_class limit 1");
        res.end();
      });
      tracing.ready.then(() => {
        const server = app.listen(0, async () => {
          await fetch("http://127.0.0.1:" + server.address().port + "/orders/1");
          server.close();
          await Promise.all([pool.end(), tracing.stop()]);
        });
      });
    `;
    const ended = await runProgram(app, {
      program: "app.cjs",
      nodeArgs: ["--require", "./sdk.cjs"],
      files: { "sdk.cjs": sdk },
      env: { DB: database.url },
    });
    expect(ended.stderr).to.equal("");
    return ended;
  }

  it("TRACE-22 creates no second server span, and creates SQL spans inside the application's span", async () => {
    const ended = await besideInstrumentations();
    const [request, ...others] = ended.lines;
    expect(others).to.deep.equal([]);
    expect(request).to.include({ name: "GET /orders/:id", kind: "SERVER" });
    expect(ended.spans).to.have.lengthOf(1);
    expect(ended.spans[0]).to.include({
      name: "SELECT pg_class",
      traceId: request?.["traceId"],
      parentSpanId: request?.["spanId"],
    });
  });

  it("TRACE-22 creates no second server span inside a middleware span, such as one of the router instrumentation", async () => {
    const layer = `(_req, _res, next) => trace.getTracer("layers").startActiveSpan("layer", (span) => {
      next();
      span.end();
    })`;
    const { lines, spans } = await besideInstrumentations(layer);
    const [inner, request] = lines;
    expect(lines.map(({ kind, name }) => `${String(kind)} ${String(name)}`)).to.deep.equal([
      "INTERNAL layer",
      "SERVER GET /orders/:id",
    ]);
    expect(inner).to.include({ traceId: request?.["traceId"] });
    expect(spans.map(({ name }) => name)).to.deep.equal(["SELECT pg_class"]);
    expect(spans[0]).to.include({ traceId: request?.["traceId"], parentSpanId: inner?.["spanId"] });
  });

  it("COR-13 sends no traceparent where the application suppresses tracing", async () => {
    await using tracing = telemetry({ service: "orders", exporter: "memory" });
    await tracing.ready;
    const key = api.createContextKey("OpenTelemetry SDK Context Key SUPPRESS_TRACING");
    await using server = await listen((req, res) =>
      api.context.with(api.ROOT_CONTEXT.setValue(key, true), () =>
        tracing(req, res, () => res.end(JSON.stringify(propagationHeaders()))),
      ),
    );
    expect(await (await fetch(server.url)).json()).not.to.have.property("traceparent");
    expect(tracing.spans()).to.deep.equal([]);
  });
});
