import * as api from "@opentelemetry/api";
import * as otlp from "@opentelemetry/exporter-trace-otlp-http";
import type { CheckResult } from "@svc/context";
import type { TelemetryMiddleware } from "@svc/telemetry";
import { collectingLogger, listen, until } from "@svc/test-support";
import { type Behaviour, openOtlpReceiver } from "@svc/test-support/otlp";
import { expect } from "chai";
import { createFailures } from "../src/failures.ts";
import { otlpExporter } from "../src/otlp-exporter.ts";
import { addSpans, flush, openTracing } from "./support/exporting.ts";

const noCounts = { exported: 0, failedBatches: 0, dropped: 0, failing: false };

/** Ways in which the receiver fails. */
const failing: readonly Behaviour[] = ["refuse", "hang", "429", "503", "500", "drip"];

/** Variables of OpenTelemetry that would change an export. */
const hostileVariables: Readonly<Record<string, string>> = {
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "1",
  OTEL_BSP_MAX_QUEUE_SIZE: "1",
  OTEL_BSP_SCHEDULE_DELAY: "1",
  OTEL_EXPORTER_OTLP_COMPRESSION: "none",
  OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1",
  OTEL_EXPORTER_OTLP_HEADERS: "x-foreign=1",
  OTEL_EXPORTER_OTLP_TIMEOUT: "1",
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://127.0.0.1:1",
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: "x-foreign=2",
  OTEL_RESOURCE_ATTRIBUTES: "service.name=foreign,team=foreign",
  OTEL_SDK_DISABLED: "true",
  OTEL_SERVICE_NAME: "foreign",
  OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT: "1",
  OTEL_TRACES_SAMPLER: "always_off",
  OTEL_TRACES_SAMPLER_ARG: "0",
};

function readinessOf(tracing: TelemetryMiddleware): CheckResult {
  return tracing.readiness().check(new AbortController().signal) as CheckResult;
}

describe("the export over OTLP", () => {
  it("TRACE-1 TRACE-14 sends compressed spans with the resource, and with nothing else about the process", async () => {
    await using receiver = await openOtlpReceiver();
    await using tracing = await openTracing({ version: "1.2.3", tracesEndpoint: receiver.url });
    tracing.span("job mail.send", "consumer", { "messaging.message.id": "m-1" }, () => undefined);
    await tracing.stop();
    expect(receiver.requests).to.have.lengthOf(1);
    expect(receiver.requests[0]).to.deep.include({ fault: undefined, encoding: "json", spanCount: 1 });
    expect(receiver.requests[0]?.headers).to.include({ "content-encoding": "gzip" });
    expect(receiver.spans[0]).to.deep.include({
      name: "job mail.send",
      kind: "consumer",
      attributes: { "messaging.message.id": "m-1" },
      resource: {
        "service.name": "orders",
        "service.version": "1.2.3",
        "deployment.environment.name": "dev",
      },
    });
    expect(tracing.counts()).to.deep.equal({ ...noCounts, exported: 1 });
  });

  it("TRACE-2 TRACE-24 sends the endpoint's user-info as basic authorization, and omits it from readiness", async () => {
    await using receiver = await openOtlpReceiver();
    const endpoint = receiver.url.replace("http://", "http://collector:p%40ss@");
    await using tracing = await openTracing({ tracesEndpoint: `${endpoint}?team=a#top` });
    addSpans(tracing, 1);
    await tracing.stop();
    expect(receiver.requests[0]).to.deep.include({ path: "/v1/traces?team=a" });
    expect(receiver.requests[0]?.headers).to.include({
      authorization: `Basic ${Buffer.from("collector:p@ss").toString("base64")}`,
    });
    expect(readinessOf(tracing).detail).to.contain(`exporting to ${receiver.url}: `);
  });

  it("TRACE-2 uses the path of an endpoint that has one, and /v1/traces otherwise", async () => {
    await using receiver = await openOtlpReceiver();
    const { origin } = new URL(receiver.url);
    for (const endpoint of [origin, `${origin}/`, `${origin}/custom/path`]) {
      const tracing = await openTracing({ endpoint });
      addSpans(tracing, 1);
      await tracing.stop();
    }
    const paths = receiver.requests.map(({ path }) => path);
    expect(paths).to.deep.equal(["/v1/traces", "/v1/traces", "/custom/path"]);
  });

  it("TRACE-3 ENV-6 sends the given headers, and ignores OpenTelemetry's environment variables", async () => {
    const before = { ...process.env };
    await using receiver = await openOtlpReceiver();
    Object.assign(process.env, hostileVariables);
    try {
      const tracing = await openTracing({
        tracesEndpoint: receiver.url,
        headers: { "x-api-key": "k-1" },
      });
      expect({ ...process.env }).to.deep.equal({ ...before, ...hostileVariables });
      tracing.span("job mail.send", "consumer", { "messaging.message.id": "m-1" }, () => undefined);
      addSpans(tracing, 1);
      await tracing.stop();
    } finally {
      for (const name of Object.keys(hostileVariables)) Reflect.deleteProperty(process.env, name);
      Object.assign(process.env, before);
    }
    expect(receiver.requests).to.have.lengthOf(1);
    expect(receiver.requests[0]?.headers).to.include({ "x-api-key": "k-1", "content-encoding": "gzip" });
    expect(receiver.requests[0]?.headers).not.to.have.property("x-foreign");
    expect(receiver.spans.map(({ attributes }) => attributes["messaging.message.id"])).to.deep.equal([
      "m-1",
      undefined,
    ]);
    expect(receiver.spans[0]?.resource).to.deep.equal({
      "service.name": "orders",
      "service.version": "unknown",
      "deployment.environment.name": "dev",
    });
  });

  it("creates no span for its own request, and sends no traceparent with it", async () => {
    await using receiver = await openOtlpReceiver();
    await using tracing = await openTracing({ tracesEndpoint: receiver.url });
    await using server = await listen((req, res) => tracing(req, res, () => res.end()));
    await (await fetch(server.url)).text();
    await until("the span", () => flush().then(() => receiver.spans.length > 0));
    await tracing.stop();
    expect(receiver.spans.map(({ name }) => name)).to.deep.equal(["GET"]);
    expect(receiver.requests[0]?.headers).not.to.have.any.keys("traceparent", "tracestate");
  });

  it("exports all of 1,200 spans in batches of 512", async () => {
    await using receiver = await openOtlpReceiver();
    await using tracing = await openTracing({ tracesEndpoint: receiver.url });
    addSpans(tracing, 1200);
    await tracing.stop();
    expect(receiver.requests.map(({ spanCount }) => spanCount)).to.deep.equal([512, 512, 176]);
    expect(tracing.counts()).to.deep.equal({ ...noCounts, exported: 1200 });
  });
});

describe("the export to a faulty collector", () => {
  for (const behaviour of failing) {
    it(`TRACE-21 leaves responses unchanged and counts the batch as failed (collector behaviour: ${behaviour})`, async () => {
      await using receiver = await openOtlpReceiver({ behaviour, dripMs: 10 });
      await using tracing = await openTracing({ tracesEndpoint: receiver.url, exportTimeoutMs: 100 });
      await using server = await listen((req, res) => tracing(req, res, () => res.end("answer")));
      addSpans(tracing, 512);
      const response = await fetch(server.url);
      expect([response.status, await response.text()]).to.deep.equal([200, "answer"]);
      await until("the failure", () => tracing.counts().failing);
      expect(tracing.counts()).to.deep.equal({ exported: 0, failedBatches: 1, dropped: 512, failing: true });
    });
  }

  it("TRACE-21 counts a batch as exported when the collector responds with the status 200 and an invalid body", async () => {
    await using receiver = await openOtlpReceiver({ behaviour: "garbage" });
    await using tracing = await openTracing({ tracesEndpoint: receiver.url });
    addSpans(tracing, 1);
    await tracing.stop();
    expect(tracing.counts()).to.deep.equal({ ...noCounts, exported: 1 });
  });

  it("TRACE-21 counts a batch as failed when no collector listens", async () => {
    const { url } = await openOtlpReceiver().then(async (receiver) => {
      await receiver[Symbol.asyncDispose]();
      return receiver;
    });
    await using tracing = await openTracing({ tracesEndpoint: url, exportTimeoutMs: 100 });
    addSpans(tracing, 1);
    await tracing.stop();
    expect(tracing.counts()).to.deep.equal({ exported: 0, failedBatches: 1, dropped: 1, failing: true });
  });

  for (const behaviour of ["hang", "drip"] as const) {
    it(`ends an export that is aborted while the collector's response ${behaviour}s`, async () => {
      await using receiver = await openOtlpReceiver({ behaviour, dripMs: 1 });
      const exporter = otlpExporter({
        api,
        otlp,
        url: receiver.url,
        headers: {},
        exportTimeoutMs: 600_000,
        failures: createFailures({ logger: undefined, now: () => 0 }),
      });
      const ended = new Promise((resolve) => exporter.export([], resolve));
      await until("the export", () => receiver.requests.length === 1);
      exporter.abort();
      await ended;
      await exporter.shutdown();
      expect(receiver.requests).to.have.lengthOf(1);
    });
  }

  it("TRACE-23 RDY-17 reports the failing export as not healthy and not critical, until a batch succeeds", async () => {
    await using receiver = await openOtlpReceiver({ behaviour: "500" });
    await using tracing = await openTracing({ tracesEndpoint: receiver.url });
    expect(readinessOf(tracing)).to.deep.equal({
      healthy: true,
      detail: `exporting to ${receiver.url}: 0 span(s) exported, 0 batch(es) failed`,
      meta: { spans_exported: 0, batches_failed: 0, spans_dropped: 0, attributes_dropped: 0, failures: 0 },
    });
    addSpans(tracing, 3);
    await flush();
    expect(readinessOf(tracing)).to.deep.equal({
      healthy: false,
      detail: "span export failing; spans are being dropped",
      meta: { spans_exported: 0, batches_failed: 1, spans_dropped: 3, attributes_dropped: 0, failures: 0 },
    });
    expect(tracing.readiness()).to.include({ name: "telemetry", critical: false });
    receiver.behave("accept");
    addSpans(tracing, 2);
    await flush();
    expect(readinessOf(tracing)).to.deep.include({
      healthy: true,
      detail: `exporting to ${receiver.url}: 2 span(s) exported, 1 batch(es) failed`,
    });
  });

  it("logs one line when the export begins to fail, and one when it works again", async () => {
    await using receiver = await openOtlpReceiver({ behaviour: "500" });
    const logger = collectingLogger();
    await using tracing = await openTracing({ tracesEndpoint: `${receiver.url}?key=secret`, logger });
    for (const behaviour of ["500", "500", "accept", "accept"] as const) {
      receiver.behave(behaviour);
      addSpans(tracing, 1);
      await flush();
    }
    expect(logger.lines.map(({ level, message, fields }) => [level, message, fields])).to.deep.equal([
      [
        "warn",
        "span export failing; spans are being dropped",
        { endpoint: receiver.url, reason: "HTTP status 500" },
      ],
      ["info", "span export works again", { endpoint: receiver.url }],
    ]);
  });

  it("TRACE-27 resolves stop() while the collector hangs, and counts the lost spans", async () => {
    await using receiver = await openOtlpReceiver({ behaviour: "hang" });
    await using tracing = await openTracing({
      tracesEndpoint: receiver.url,
      exportTimeoutMs: 600_000,
      shutdownTimeoutMs: 20,
    });
    addSpans(tracing, 600);
    await until("the export", () => receiver.requests.length === 1);
    await tracing.stop();
    expect(tracing.counts()).to.deep.equal({ ...noCounts, dropped: 600 });
    expect(receiver.requests).to.have.lengthOf(1);
  });

  it("creates no spans after stop(), which may be called repeatedly", async () => {
    await using receiver = await openOtlpReceiver();
    const tracing = await openTracing({ tracesEndpoint: receiver.url });
    await Promise.all([tracing.stop(), tracing.stop()]);
    addSpans(tracing, 1);
    await tracing.stop();
    expect(receiver.requests).to.deep.equal([]);
    expect(tracing.counts()).to.deep.equal(noCounts);
  });
});
