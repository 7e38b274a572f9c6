import { spanMetrics } from "@svc/metrics";
import { expect } from "chai";
import { Registry } from "prom-client";

describe("spanMetrics", () => {
  it("shows the counts of spans at the time of the scrape", async () => {
    const registry = new Registry();
    let exported = 7;
    spanMetrics({ registry, counts: () => ({ exported, dropped: 2, failedBatches: 1 }) });
    exported = 8;
    expect((await registry.metrics()).match(/^telemetry_.*$/gm)).to.deep.equal([
      "telemetry_spans_exported_total 8",
      "telemetry_spans_dropped_total 2",
      "telemetry_batches_failed_total 1",
    ]);
  });

  it("shows 0 when counts() throws", async () => {
    const registry = new Registry();
    spanMetrics({
      registry,
      counts: () => {
        throw new Error("a bug");
      },
    });
    expect(await registry.metrics()).to.match(/^telemetry_spans_dropped_total 0$/m);
  });

  it("rejects a registry that already has these metrics", () => {
    const registry = new Registry();
    const options = { registry, counts: () => ({ exported: 0, dropped: 0, failedBatches: 0 }) };
    spanMetrics(options);
    expect(() => spanMetrics(options)).to.throw(/registry: already has telemetry_spans_exported_total/);
  });
});
