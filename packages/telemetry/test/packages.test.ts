import { openOtlpReceiver } from "@svc/test-support/otlp";
import { expect } from "chai";
import { runProgram } from "./support/preload-program.ts";

/** Module loader hooks that make packages missing or broken, and list the packages of OpenTelemetry that are loaded. */
const hooks = `
  import { registerHooks } from "node:module";
  const missing = new Set();
  const sources = new Map();
  const loaded = new Set();
  registerHooks({
    resolve(specifier, context, next) {
      if (missing.has(specifier)) {
        const message = "Cannot find package '" + specifier + "' imported from " + context.parentURL;
        throw Object.assign(new Error(message), { code: "ERR_MODULE_NOT_FOUND" });
      }
      if (specifier.startsWith("@opentelemetry/")) loaded.add(specifier);
      const resolved = next(specifier, context);
      const source = sources.get(specifier);
      return source === undefined ? resolved : { ...resolved, url: resolved.url + "?" + source };
    },
    load(url, context, next) {
      const [, source] = url.split("?");
      if (source === undefined) return next(url, context);
      return { format: "module", source: decodeURIComponent(source), shortCircuit: true };
    },
  });
  const { telemetry } = await import("@svc/telemetry");
  async function reasonOf(options) {
    try {
      const tracing = telemetry({ service: "orders", ...options });
      await tracing.ready;
      await tracing.stop();
    } catch (error) {
      return error.faults?.map(({ key, message }) => key + ": " + message).join() ?? error.stack;
    }
  }
  const print = (what) => console.log(JSON.stringify(what));
`;

const INSTALL =
  "npm install @opentelemetry/api @opentelemetry/sdk-trace @opentelemetry/context-async-hooks @opentelemetry/exporter-trace-otlp-http";
const peers = [
  "@opentelemetry/api",
  "@opentelemetry/sdk-trace",
  "@opentelemetry/context-async-hooks",
  "@opentelemetry/exporter-trace-otlp-http",
];

describe("the packages of OpenTelemetry", function () {
  this.timeout(60_000);

  it("TRACE-1 TRACE-5 TRACE-29 are not loaded without an endpoint; the error explains a missing or broken one", async () => {
    const source = `${hooks}
      const tracing = telemetry({ service: "orders" });
      await tracing.ready;
      tracing.span("job a", "consumer", {}, () => undefined);
      tracing.traceQueries(undefined);
      await tracing.stop();
      const isRegistered = Symbol.for("opentelemetry.js.api.1") in globalThis;
      print({ loaded: [...loaded], isRegistered, exporting: tracing.exporting });

      const endpoint = "http://127.0.0.1:1";
      for (const name of ${JSON.stringify(peers)}) {
        missing.add(name);
        print({ name, otlp: await reasonOf({ endpoint }), memory: await reasonOf({ exporter: "memory" }) });
        missing.delete(name);
      }
      for (const source of ['throw new Error("broken build at http://u:secret@host")', 'import "not-installed"']) {
        sources.set("@opentelemetry/sdk-trace", encodeURIComponent(source));
        print({ reason: await reasonOf({ endpoint }) });
      }
      sources.clear();
      print({ reason: await reasonOf({ endpoint }) });
    `;
    const { lines, stderr } = await runProgram(source, { program: "program.mjs" });
    expect(stderr).to.equal("");
    const otlp = `endpoint: an endpoint is set and OpenTelemetry is not installed; run: ${INSTALL}`;
    const memory = `exporter: an exporter is set and OpenTelemetry is not installed; run: ${INSTALL}`;
    const broken = "endpoint: an endpoint is set and @opentelemetry/sdk-trace cannot be loaded: Error: ";
    expect(lines.slice(0, 6)).to.deep.equal([
      { loaded: [], isRegistered: false, exporting: false },
      ...peers.slice(0, 3).map((name) => ({ name, otlp, memory })),
      { name: peers[3], otlp },
      { reason: `${broken}broken build at http://***@host` },
    ]);
    expect(lines[6]?.["reason"])
      .to.be.a("string")
      .that.satisfies((reason: string) =>
        reason.startsWith(`${broken}Cannot find package 'not-installed' imported from `),
      );
    expect(lines[7]).to.deep.equal({});
  });
});

describe("a process with telemetry()", function () {
  this.timeout(60_000);

  it("ends after stop() while the collector hangs, and without stop() while spans are queued", async () => {
    await using hanging = await openOtlpReceiver({ behaviour: "hang" });
    const source = `
      import { telemetry } from "@svc/telemetry";
      const queued = telemetry({ service: "orders", tracesEndpoint: process.env.OTLP });
      const tracing = telemetry({
        service: "orders",
        tracesEndpoint: process.env.HANGING,
        exportTimeoutMs: 600_000,
        shutdownTimeoutMs: 1_500,
      });
      await Promise.all([queued.ready, tracing.ready]);
      for (const { span } of [queued, tracing]) span("job a", "consumer", {}, () => undefined);
      await tracing.stop();
      console.log(JSON.stringify({ stopped: true }));
    `;
    const program = { program: "program.mjs", env: { HANGING: hanging.url } };
    const { code, lines, stderr } = await runProgram(source, program);
    expect([code, stderr]).to.deep.equal([0, ""]);
    expect(lines).to.deep.equal([{ stopped: true }]);
    expect(hanging.requests).to.have.lengthOf(1);
  });

  it("creates no span for the export and sends no traceparent with it when HTTP is instrumented", async () => {
    const source = `
      import { createRequire } from "node:module";
      const require = createRequire(import.meta.url);
      const { HttpInstrumentation } = require("@opentelemetry/instrumentation-http");
      new HttpInstrumentation();
      const http = require("node:http");
      const { trace } = await import("@opentelemetry/api");
      const { telemetry } = await import("@svc/telemetry");
      const tracing = telemetry({ service: "orders", tracesEndpoint: process.env.OTLP });
      await tracing.ready;
      const call = (url) => new Promise((done) => http.get(url, (res) => res.resume().on("end", done)));
      await tracing.span("job a", "consumer", {}, () => call(process.env.OTHER));
      await trace.getTracerProvider().getDelegate().forceFlush();
      await tracing.stop();
    `;
    await using receiver = await openOtlpReceiver();
    await using other = await openOtlpReceiver();
    const program = { program: "program.mjs", env: { OTLP: receiver.url, OTHER: other.url } };
    const { code, stderr, spans } = await runProgram(source, program);
    expect([code, stderr]).to.deep.equal([0, ""]);
    expect(spans.map(({ name, kind }) => `${kind} ${name}`)).to.deep.equal(["client GET", "consumer job a"]);
    expect(other.requests[0]?.headers).to.have.property("traceparent");
  });
});
