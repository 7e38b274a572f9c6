import { contextOf } from "@svc/context";
import { metrics } from "@svc/metrics";
import { requestId } from "@svc/request-id";
import { listen } from "@svc/test-support";
import { expect } from "chai";
import express from "express";

const quiet = { defaultMetrics: false, eventLoopDelay: false, buckets: [30, 60] } as const;
const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const SAMPLED = `00-${TRACE_ID}-b7ad6b7169203331-01`;
const EXEMPLAR = new RegExp(
  String.raw`^http_request_duration_seconds_bucket\{le="30\.0",method="GET",endpoint="(.*)"\} (\d+)` +
    String.raw` # \{trace_id="(\w{32})"\} (\d+(?:\.\d+)?(?:e-\d+)?) (\d+(?:\.\d+)?)$`,
);

/** Sends requests, and returns the lines of the duration's buckets. */
async function bucketsOf(
  options: Parameters<typeof metrics>[0],
  requests: readonly string[],
  accept = "application/openmetrics-text",
): Promise<string[]> {
  const counted = metrics({ ...quiet, ...options });
  const app = express().use(counted).get("/metrics", counted.handler).use(requestId());
  app.get("/items/:id", (_req, res) => void res.end());
  await using server = await listen(app);
  for (const traceparent of requests)
    await (await fetch(`${server.url}/items/1`, { headers: { traceparent } })).text();
  const text = await (await fetch(`${server.url}/metrics`, { headers: { accept } })).text();
  return text
    .split("\n")
    .filter((line) => line.startsWith("http_request_duration_seconds_bucket") && line.includes("items"));
}

describe("metrics({ exemplars: true })", () => {
  it("writes the last sampled trace of a bucket as an exemplar in OpenMetrics", async () => {
    const other = SAMPLED.replace("0af", "1af");
    const [first, ...others] = await bucketsOf({ exemplars: true }, [other, SAMPLED]);
    const [, endpoint, count, traceId, seconds, timestamp] = EXEMPLAR.exec(first ?? "") ?? [];
    expect([endpoint, count, traceId]).to.deep.equal(["/items/:id", "2", TRACE_ID]);
    expect(Number(seconds)).to.be.within(0, 30);
    expect(Number(timestamp)).to.be.within(Date.now() / 1000 - 60, Date.now() / 1000);
    expect(others.join("")).not.to.contain("#");
  });

  it("writes no exemplar for a trace that is not sampled, or for a request without a trace", async () => {
    const lines = await bucketsOf({ exemplars: true }, [SAMPLED.replace(/01$/, "02"), ""]);
    expect(lines.join("")).not.to.contain("#");
  });

  it("MET-1 writes no exemplar in the plain text format", async () => {
    const lines = await bucketsOf({ exemplars: true }, [SAMPLED], "text/plain");
    expect(lines).to.have.lengthOf(3);
    expect(lines.join("")).not.to.contain("#");
  });

  it("writes no exemplar by default", async () => {
    expect((await bucketsOf({}, [SAMPLED])).join("")).not.to.contain("#");
  });

  it("writes the trace that a request has when its response ends, even if its span was opened after metrics()", async () => {
    const counted = metrics({ ...quiet, exemplars: true });
    await using server = await listen((req, res) =>
      counted(req, res, () => {
        const context = contextOf(req);
        context?.openSpan({ traceId: TRACE_ID, traceparent: SAMPLED, tracestate: undefined });
        if (req.url === "/metrics") counted.handler(req, res, () => res.end());
        else res.end();
      }),
    );
    await (await fetch(server.url)).text();
    const headers = { accept: "application/openmetrics-text" };
    const text = await (await fetch(`${server.url}/metrics`, { headers })).text();
    expect(text).to.contain(`# {trace_id="${TRACE_ID}"}`);
  });
});
