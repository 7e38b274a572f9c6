import { listen } from "@svc/test-support";
import { parseTraceparent } from "@svc/request-id";
import { expect } from "chai";
import { type Child, type ChildOptions, runChild } from "./support/child.ts";

/** OpenTelemetry with the instrumentations of HTTP, Express and fetch. Prints each span as a line of JSON. */
const sdk = `
  const { context, propagation, SpanKind, trace } = require("@opentelemetry/api");
  const { AsyncLocalStorageContextManager } = require("@opentelemetry/context-async-hooks");
  const { W3CTraceContextPropagator } = require("@opentelemetry/core");
  const { registerInstrumentations } = require("@opentelemetry/instrumentation");
  const { ExpressInstrumentation } = require("@opentelemetry/instrumentation-express");
  const { HttpInstrumentation } = require("@opentelemetry/instrumentation-http");
  const { UndiciInstrumentation } = require("@opentelemetry/instrumentation-undici");
  const { TracerProvider } = require("@opentelemetry/sdk-trace");

  const printer = {
    onStart() {},
    onEnd(span) {
      const { traceId, spanId } = span.spanContext();
      const path = span.attributes["url.path"];
      console.log(JSON.stringify({ span: span.name, kind: SpanKind[span.kind], path, traceId, spanId }));
    },
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
  };
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [printer] }));
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  const ignoreLayersType = ["middleware", "router", "request_handler"];
  registerInstrumentations({
    instrumentations: [
      new HttpInstrumentation(),
      new ExpressInstrumentation({ ignoreLayersType }),
      new UndiciInstrumentation(),
    ],
  });
`;

const hook = `
  import { createRequire, register } from "node:module";
  register("@opentelemetry/instrumentation/hook.mjs", import.meta.url);
  createRequire(import.meta.url)("./sdk.cjs");
`;

const service = `
  createService({
    config: { toml: '[service]\\nname = "orders"\\nport = 0\\n' },
    routes(app) {
      app.get("/orders/:id", (_req, res) => res.json(propagationHeaders()));
      app.get("/relay", async (_req, res) => {
        await fetch(process.env.NEXT, { headers: propagationHeaders() });
        res.end();
      });
    },
  }).then((made) => made.start());
`;
const commonJs = `
  const { createService } = require("@svc/express");
  const { propagationHeaders } = require("@svc/request-id");
  ${service}
`;
const module = `
  import { createService } from "@svc/express";
  import { propagationHeaders } from "@svc/request-id";
  ${service}
`;

const starts: Readonly<Record<string, readonly [source: string, options: ChildOptions]>> = {
  "--require and CommonJS": [commonJs, { program: "service.cjs", nodeArgs: ["--require", "./sdk.cjs"] }],
  "--require and an ES module": [module, { nodeArgs: ["--require", "./sdk.cjs"] }],
  "--import and an ES module": [module, { nodeArgs: ["--import", "./hook.mjs"] }],
};

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const TRACEPARENT = `00-${TRACE_ID}-b7ad6b7169203331-01`;

for (const [name, [source, options]] of Object.entries(starts)) {
  describe(`a service with the instrumentations of OpenTelemetry, started with ${name}`, function () {
    this.timeout(60_000);
    let child: Child;
    const sent: string[][] = [];
    const next = listen((req, res) => {
      sent.push(req.rawHeaders);
      res.end();
    });

    before(async () => {
      const { url } = await next;
      const files = { "sdk.cjs": sdk, "hook.mjs": hook };
      child = await runChild(source, { ...options, env: { NEXT: url }, files });
      await child.listening();
    });
    after(async () => {
      await child[Symbol.asyncDispose]();
      await (await next)[Symbol.asyncDispose]();
    });

    const serverSpan = (path: string): ReturnType<Child["line"]> =>
      child.line((line) => line["kind"] === "SERVER" && line["path"] === path);
    const accessLine = (path: string): ReturnType<Child["line"]> =>
      child.line((line) => line["message"] === "request" && line["http_path"] === path);

    it("has a server span that is named after the route", async () => {
      await (await fetch(`${child.url()}/orders/1`)).text();
      expect(await serverSpan("/orders/1")).to.include({ span: "GET /orders/:id" });
    });

    it("COR-12 COR-13 logs the trace of its server span, and propagates that span", async () => {
      const headers = (await (await fetch(`${child.url()}/orders/2`)).json()) as Record<string, string>;
      const { traceId, spanId } = await serverSpan("/orders/2");
      expect(headers["traceparent"]).to.equal(`00-${String(traceId)}-${String(spanId)}-01`);
      expect(await accessLine("/orders/2")).to.include({ trace_id: traceId });
    });

    it("COR-10 COR-13 sends one traceparent with fetch, that of the client span", async () => {
      await (
        await fetch(`${child.url()}/relay`, { headers: { traceparent: TRACEPARENT, tracestate: "a=1" } })
      ).text();
      const client = await child.line((line) => line["kind"] === "CLIENT" && line["traceId"] === TRACE_ID);
      const names = sent.at(-1)?.filter((_text, at) => at % 2 === 0) ?? [];
      const valueOf = (header: string): string | undefined => {
        const at = names.findIndex((each) => each.toLowerCase() === header);
        return sent.at(-1)?.[2 * at + 1];
      };
      expect(names.filter((each) => /^trace(?:parent|state)$/i.test(each))).to.have.length(2);
      expect(parseTraceparent(valueOf("traceparent"), valueOf("tracestate"))).to.eql({
        traceId: TRACE_ID,
        traceparent: `00-${TRACE_ID}-${String(client["spanId"])}-01`,
        tracestate: "a=1",
      });
      expect(await accessLine("/relay")).to.include({ trace_id: TRACE_ID });
    });
  });
}
