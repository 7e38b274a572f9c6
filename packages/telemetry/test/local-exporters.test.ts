import { telemetry } from "@svc/telemetry";
import { collectingLogger } from "@svc/test-support";
import { expect } from "chai";
import { addSpans, openTracing } from "./support/exporting.ts";

describe('telemetry() with exporter = "memory"', () => {
  it("keeps the last 1,000 spans, oldest first", async () => {
    await using tracing = await openTracing({ exporter: "memory" });
    for (let index = 0; index < 1003; index++) addSpans(tracing, 1, `job ${index}`);
    const names = tracing.spans().map(({ name }) => name);
    expect(names).to.deep.equal(Array.from({ length: 1000 }, (_none, index) => `job ${index + 3}`));
    expect(tracing.counts()).to.deep.equal({ exported: 1003, failedBatches: 0, dropped: 0, failing: false });
  });

  it("shows name, kind, status, ids, times, attributes, events and resource of a span", async () => {
    await using tracing = await openTracing({ exporter: "memory", version: "1.2.3" });
    let outer;
    const run = (): unknown =>
      tracing.span("job a", "consumer", { "svc.job.attempts": 2 }, (span) => {
        outer = span.trace?.traceparent;
        tracing.span("rag.search", "internal", {}, () => undefined);
        throw new RangeError("too far");
      });
    expect(run).to.throw("too far");
    const [inner, span] = tracing.spans();
    expect(`00-${span?.traceId}-${span?.spanId}-01`).to.equal(outer);
    expect(inner).to.include({ name: "rag.search", kind: "internal", parentSpanId: span?.spanId });
    expect(span).to.deep.include({
      name: "job a",
      kind: "consumer",
      status: "error",
      parentSpanId: undefined,
      attributes: { "svc.job.attempts": 2 },
      resource: {
        "service.name": "orders",
        "service.version": "1.2.3",
        "deployment.environment.name": "dev",
      },
    });
    expect(span?.events.map(({ name }) => name)).to.deep.equal(["exception"]);
    expect(new Date(span?.startedAt ?? "").toISOString()).to.equal(span?.startedAt);
    expect(span?.durationMs).to.be.at.least(0);
  });

  it("has no spans before it is ready, and creates none for operations before then", async () => {
    await using tracing = telemetry({ service: "orders", exporter: "memory" });
    addSpans(tracing, 1, "before");
    expect(tracing.spans()).to.deep.equal([]);
    await tracing.ready;
    expect(tracing.spans()).to.deep.equal([]);
    addSpans(tracing, 1, "after");
    expect(tracing.spans().map(({ name }) => name)).to.deep.equal(["after"]);
  });

  it("TRACE-23 reports where spans go, and keeps the spans after stop()", async () => {
    const tracing = await openTracing({ exporter: "memory" });
    addSpans(tracing, 2);
    await tracing.stop();
    expect(await tracing.readiness().check(new AbortController().signal)).to.deep.include({
      healthy: true,
      detail: "exporting to memory: 2 span(s) exported, 0 batch(es) failed",
    });
    expect(tracing.spans()).to.have.lengthOf(2);
  });
});

describe('telemetry() with exporter = "console"', () => {
  it("writes one INFO line per span, and continues when the logger throws", async () => {
    const logger = collectingLogger();
    let isBroken = false;
    const info = (fields: object, message?: string): void => {
      if (isBroken) throw new Error("the disk is full");
      logger.info(fields, message);
    };
    await using tracing = await openTracing({ exporter: "console", logger: { ...logger, info } });
    addSpans(tracing, 2);
    isBroken = true;
    addSpans(tracing, 1);
    expect(logger.lines.map(({ level, message }) => `${level} ${message}`)).to.deep.equal([
      "info span",
      "info span",
    ]);
    expect(logger.lines[0]?.fields["span"]).to.include({ name: "job mail.send", kind: "consumer" });
    expect(tracing.counts().exported).to.equal(3);
    expect(tracing.spans()).to.deep.equal([]);
  });
});
