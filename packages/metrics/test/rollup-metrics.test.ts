import { rollupMetrics } from "@svc/metrics";
import { expect } from "chai";
import { Registry } from "prom-client";

describe("rollupMetrics", () => {
  const numbers = async (registry: Registry): Promise<readonly string[] | null> =>
    (await registry.metrics()).match(/^svc_rollup.*$/gm);

  it("shows the number of differing buckets of each rollup at the time of the scrape", async () => {
    const registry = new Registry();
    let drift: Record<string, number> = { monthly: 3, visits: 0 };
    rollupMetrics({ registry, drift: async () => drift });
    expect(await numbers(registry)).to.deep.equal([
      'svc_rollup_drift_buckets{rollup="monthly"} 3',
      'svc_rollup_drift_buckets{rollup="visits"} 0',
    ]);
    drift = { visits: 1 };
    expect(await numbers(registry)).to.deep.equal(['svc_rollup_drift_buckets{rollup="visits"} 1']);
  });

  it("omits the gauge when drift() rejects", async () => {
    const registry = new Registry();
    rollupMetrics({ registry, drift: () => Promise.reject(new Error("the database is down")) });
    expect(await numbers(registry)).to.equal(null);
  });

  it("rejects a registry that already has this metric", () => {
    const options = { registry: new Registry(), drift: async () => ({}) };
    rollupMetrics(options);
    expect(() => rollupMetrics(options)).to.throw(/registry: already has svc_rollup_drift_buckets/);
  });
});
