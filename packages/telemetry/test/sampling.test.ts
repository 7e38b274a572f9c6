import { propagationHeaders, requestId } from "@svc/request-id";
import type { TelemetryMiddleware } from "@svc/telemetry";
import { listen, until } from "@svc/test-support";
import { expect } from "chai";
import express from "express";
import { openTracing } from "./support/exporting.ts";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const CALLER = "b7ad6b7169203331";

/** Returns the decision of OpenTelemetry's ratio-based sampler: whether the XOR of the id's four words is below a bound. */
function isBelow(ratio: number, traceId: string): boolean {
  const words = traceId.match(/.{8}/g) ?? [];
  const hash = words.reduce((sum, word) => (sum ^ Number.parseInt(word, 16)) >>> 0, 0);
  return hash < Math.floor(ratio * 0xffff_ffff);
}

/** Returns the headers that a service propagates for a request with the given headers. */
async function relayed(
  tracing: TelemetryMiddleware,
  headers: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, string>>> {
  const app = express().use(requestId(), tracing);
  app.get("/", (_req, res) => void res.json(propagationHeaders()));
  await using server = await listen(app);
  return (await (await fetch(server.url, { headers })).json()) as Readonly<Record<string, string>>;
}

describe("sampling", () => {
  it("TRACE-28 depends on the trace id alone, so that two instances make the same decision", async () => {
    for (let instance = 0; instance < 2; instance++) {
      await using tracing = await openTracing({ exporter: "memory", sampleRatio: 0.25 });
      let sampled = 0;
      for (let index = 0; index < 2000; index++) {
        const trace = tracing.span("job a", "consumer", {}, (span) => span.trace);
        const isSampled = trace?.traceparent.endsWith("-01") === true;
        expect(isSampled).to.equal(isBelow(0.25, trace?.traceId ?? ""));
        if (isSampled) sampled += 1;
      }
      expect(tracing.counts().exported).to.equal(sampled);
      // 25 % of 2,000, and more than seven standard deviations on both sides.
      expect(sampled).to.be.within(350, 650);
    }
  });

  it("TRACE-28 keeps a trace whose parent is sampled, even with the ratio 0", async () => {
    await using tracing = await openTracing({ exporter: "memory", sampleRatio: 0 });
    expect(tracing.span("job a", "consumer", {}, (span) => span.trace)?.traceparent).to.match(/-00$/);
    await relayed(tracing, { traceparent: `00-${TRACE_ID}-${CALLER}-01` });
    await until("the span", () => tracing.spans().length > 0);
    expect(tracing.spans().map(({ traceId }) => traceId)).to.deep.equal([TRACE_ID]);
  });

  it("TRACE-28 COR-14 drops a trace whose parent is not sampled, and propagates its own span with the flags 00", async () => {
    await using tracing = await openTracing({ exporter: "memory", sampleRatio: 1 });
    const sent = await relayed(tracing, { traceparent: `00-${TRACE_ID}-${CALLER}-00`, tracestate: "a=1" });
    expect(sent["traceparent"]).to.match(new RegExp(`^00-${TRACE_ID}-(?!${CALLER})[0-9a-f]{16}-00$`));
    expect(sent["tracestate"]).to.equal("a=1");
    expect(tracing.counts().exported).to.equal(0);
  });

  it("TRACE-28 applies the decision for a span to its child spans", async () => {
    await using tracing = await openTracing({ exporter: "memory", sampleRatio: 0 });
    tracing.span("job a", "consumer", {}, () =>
      tracing.span("rag.search", "internal", {}, (span) => {
        expect(span.trace?.traceparent).to.match(/-00$/);
      }),
    );
    expect(tracing.spans()).to.deep.equal([]);
  });
});
