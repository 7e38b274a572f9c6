import { trace } from "@opentelemetry/api";
import type { TelemetryMiddleware } from "@svc/telemetry";
import { listen, until } from "@svc/test-support";
import { expect } from "chai";
import { openTracing } from "./support/exporting.ts";

const two = (): Promise<[TelemetryMiddleware, TelemetryMiddleware]> =>
  Promise.all([
    openTracing({ service: "first", exporter: "memory" }),
    openTracing({ service: "second", exporter: "memory" }),
  ]);

/** Sends a request whose handler creates a span inside another one. Returns the names of the spans and of their parents. */
async function spansOfRequest(tracing: TelemetryMiddleware): Promise<readonly string[]> {
  const before = tracing.spans().length;
  await using server = await listen((req, res) =>
    tracing(req, res, () => {
      tracing.span("rag.ingest", "internal", {}, () =>
        tracing.span("rag.search", "internal", {}, () => res.end()),
      );
    }),
  );
  await (await fetch(server.url)).text();
  const spans = await until("the spans", () => {
    const made = tracing.spans().slice(before);
    return made.length === 3 && made;
  });
  return spans.map(({ name, parentSpanId, resource }) => {
    const parent = spans.find(({ spanId }) => spanId === parentSpanId)?.name;
    return `${String(resource["service.name"])}: ${name} < ${parent}`;
  });
}

const expected = (service: string): readonly string[] => [
  `${service}: rag.search < rag.ingest`,
  `${service}: rag.ingest < GET`,
  `${service}: GET < undefined`,
];

describe("two instances of telemetry() in one process", () => {
  it("record their own spans", async () => {
    const [first, second] = await two();
    expect(await spansOfRequest(first)).to.deep.equal(expected("first"));
    expect(await spansOfRequest(second)).to.deep.equal(expected("second"));
    await Promise.all([first.stop(), second.stop()]);
  });

  for (const [stopped, running] of [
    [0, 1],
    [1, 0],
  ] as const) {
    it(`record spans after the ${["first", "second"][stopped]} instance has stopped`, async () => {
      const both = await two();
      await both[stopped].stop();
      expect(await spansOfRequest(both[running])).to.deep.equal(expected(["first", "second"][running] ?? ""));
      trace.getTracer("the application").startSpan("of the application").end();
      expect(both[running].spans().at(-1)).to.include({ name: "of the application" });
      await both[running].stop();
    });
  }

  it("leave nothing registered after both have stopped, so that a third instance works", async () => {
    for (const instance of await two()) await instance.stop();
    expect(trace.getTracer("the application").startSpan("x").isRecording()).to.equal(false);
    await using third = await openTracing({ service: "third", exporter: "memory" });
    expect(await spansOfRequest(third)).to.deep.equal(expected("third"));
    trace.getTracer("the application").startSpan("of the application").end();
    expect(third.spans().at(-1)).to.include({ name: "of the application" });
  });
});
