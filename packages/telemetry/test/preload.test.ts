import { testDatabase } from "@svc/dev-services";
import type { ReceivedSpan } from "@svc/test-support/otlp";
import { expect } from "chai";
import { type EndedProgram, type ProgramOptions, runProgram, treeOf } from "./support/preload-program.ts";

const SECRET = "s3cret";

/** A service that sends requests to itself, and exports all spans before it ends. */
const service = `
  const manual = trace.getTracer("app");
  const tracing = telemetry({ service: "orders", endpoint: process.env.OTLP });
  const stock = new pg.Pool({ connectionString: process.env.DB, max: 1 });
  const own = new pg.Pool({ connectionString: process.env.DB, max: 1 });
  tracing.traceQueries(own);
  let origin;

  const get = (path) =>
    new Promise((resolve, reject) => {
      const headers = { "user-agent": "${SECRET}" };
      http.get(origin + path, { headers }, (res) => {
        let body = "";
        res.on("data", (chunk) => (body += chunk)).on("end", () => resolve(JSON.parse(body)));
      }).on("error", reject);
    });

  async function order(_req, res) {
    const { traceparent } = await get("/headers/${SECRET}?token=${SECRET}");
    await stock.query("select relname from pg_class where relname = '${SECRET}'");
    await stock.query("select '${SECRET}'::int").catch(() => undefined);
    await own.query("select typname from pg_type where typname = '${SECRET}'");
    manual.startActiveSpan("price order", (span) => {
      span.setAttributes({ "rag.hits": 1, color: "${SECRET}" });
      span.end();
    });
    res.json({ traceparent });
  }

  tracing.ready.then(() => {
    const app = express().use(tracing);
    app.get("/headers/:id", (req, res) => res.json(req.headers));
    app.get("/orders/:id", order);
    const server = app.listen(0, async () => {
      origin = "http://127.0.0.1:" + server.address().port;
      const { traceparent } = await get("/orders/${SECRET}?token=${SECRET}");
      instrumentations.express.setConfig({ ignoreLayersType: ["middleware", "router"] });
      await get("/headers/${SECRET}");
      server.close();
      await Promise.all([stock.end(), own.end(), tracing.stop()]);
      console.log(JSON.stringify({ traceparent, meta: tracing.readiness().check().meta }));
    });
  });
`;
const module = `
  import { trace } from "@opentelemetry/api";
  import { telemetry } from "@svc/telemetry";
  import { instrumentations } from "@svc/telemetry/preload";
  import express from "express";
  import http from "node:http";
  import pg from "pg";
  ${service}
`;
const namedImports = module.replace('import http from "node:http"', 'import * as http from "node:http"');
const commonJs = `
  const { trace } = require("@opentelemetry/api");
  const { telemetry } = require("@svc/telemetry");
  const { instrumentations } = require("@svc/telemetry/preload");
  const express = require("express");
  const http = require("node:http");
  const pg = require("pg");
  ${service}
`;
const withoutSyncHooks = `
  import { registerHooks } from "node:module";
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier.endsWith("/register-hooks.mjs")) throw new Error("not in this version");
      return next(specifier, context);
    },
  });
`;
const preload = ["--import", "@svc/telemetry/preload"];

const starts: Readonly<Record<string, readonly [source: string, options: ProgramOptions]>> = {
  "an ES module with --import": [module, { program: "app.mjs", nodeArgs: preload }],
  "an ES module with --import and hooks in another thread": [
    namedImports,
    {
      program: "app.mjs",
      nodeArgs: ["--import", "./old.mjs", ...preload],
      files: { "old.mjs": withoutSyncHooks },
    },
  ],
  "CommonJS with --import": [commonJs, { program: "app.cjs", nodeArgs: preload }],
};

/** Returns the spans of the trace in which a span has this name. */
function inTraceOf({ spans }: EndedProgram, name: string): ReceivedSpan[] {
  const traceId = spans.find((span) => span.name === name)?.traceId;
  return spans.filter((span) => span.traceId === traceId);
}

describe("@svc/telemetry/preload", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "telemetry_preload" });
  const programs = new Map<string, Promise<EndedProgram>>();
  before(() => {
    for (const [name, [source, options]] of Object.entries(starts))
      programs.set(name, runProgram(source, { ...options, env: { DB: database.url } }));
  });
  after(() => Promise.all(programs.values()));

  for (const name of Object.keys(starts)) {
    describe(`in ${name}`, () => {
      let ended: EndedProgram;
      before(async () => {
        ended = (await programs.get(name)) as EndedProgram;
        expect(ended.stderr).to.equal("");
        expect(ended.code).to.equal(0);
      });

      it("TRACE-7 TRACE-8 TRACE-22 creates one span for each request, outgoing request and statement", () => {
        expect(treeOf(inTraceOf(ended, "price order"))).to.deep.equal([
          "@svc/telemetry client SELECT pg_type < GET /orders/:id",
          "@svc/telemetry server GET /headers/:id < GET",
          "@svc/telemetry server GET /orders/:id < -",
          "app internal price order < GET /orders/:id",
          "http client GET < GET /orders/:id",
          "pg client SELECT < GET /orders/:id",
          "pg client SELECT pg_class < GET /orders/:id",
        ]);
      });

      it("TRACE-22 creates spans for Express layers only if the application enables them", () => {
        expect(treeOf(inTraceOf(ended, "request handler"))).to.deep.equal([
          "@svc/telemetry server GET /headers/:id < -",
          "express internal request handler < GET /headers/:id",
        ]);
      });

      it("TRACE-15 TRACE-16 exports no path, query, literal or user agent", () => {
        expect(ended.bytes).not.to.contain(SECRET);
      });

      it("TRACE-15 counts the attributes that it drops", () => {
        const meta = ended.lines[0]?.["meta"];
        expect(meta).to.include({ spans_exported: 9, failures: 0 });
        expect(meta).to.have.property("attributes_dropped").above(5);
      });

      it("TRACE-19 propagates the client span's trace context", () => {
        const client = ended.spans.find(({ scope, kind }) => kind === "client" && scope.endsWith("-http"));
        expect(ended.lines[0]?.["traceparent"]).to.equal(`00-${client?.traceId}-${client?.spanId}-01`);
      });
    });
  }

  it("exits with 1 and prints the npm install command if a package is missing", async () => {
    const missing = `
      import Module from "node:module";
      const resolve = Module._resolveFilename;
      Module._resolveFilename = (name, ...rest) => {
        if (name.endsWith("-pg")) throw Object.assign(new Error("no"), { code: "MODULE_NOT_FOUND" });
        return resolve(name, ...rest);
      };
    `;
    const { code, stderr } = await runProgram("", {
      program: "app.mjs",
      nodeArgs: ["--import", "./missing.mjs", ...preload],
      files: { "missing.mjs": missing },
    });
    expect(code).to.equal(1);
    expect(stderr).to.contain("needs more packages; run: npm install @opentelemetry/instrumentation-pg\n");
  });
});
